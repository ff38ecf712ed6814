"""From documents to every raw slot of a network, with torch (`engine`) or ONNX (`runtime`)."""
