"""From documents to a corpus that training memory-maps."""
