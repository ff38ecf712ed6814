"""From files to examples: documents, readers, vocabulary, prepared corpora."""
