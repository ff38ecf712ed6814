"""Networks, the copy mechanism, and model folders."""
