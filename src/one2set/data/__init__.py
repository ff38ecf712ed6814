"""From files to examples: tokens and stems, documents, readers, vocabulary, corpora."""
