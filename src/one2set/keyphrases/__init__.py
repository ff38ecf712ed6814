"""From slots and scores to the keyphrases that users see."""
