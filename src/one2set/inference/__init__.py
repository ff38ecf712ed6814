"""Generation: documents in, predictions out; their calibration and their presentation."""
