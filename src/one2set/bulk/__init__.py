"""Keyphrases of millions of documents: workers, resume, Ray."""
