"""Keyphrases of documents: prediction without torch, knowledge, calibration, presentation."""
