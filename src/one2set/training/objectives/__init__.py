"""Training objectives: modules whose forward maps a batch to a `Loss`."""
