"""The formats of documents, a file for each: from bytes to title and blocks of text."""
