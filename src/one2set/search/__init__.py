"""From a network to token sequences: greedy, beam and exclusive search."""
