"""From candidates to the keyphrases that users see."""
