"""Networks, the copy mechanism, decoding, and model folders."""
