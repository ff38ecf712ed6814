"""Evaluation: predictions are matched with gold keyphrases and scored as in the literature."""
