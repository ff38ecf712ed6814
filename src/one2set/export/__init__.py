"""SetTrans as ONNX graphs, which `prediction.runtime` runs without torch."""
