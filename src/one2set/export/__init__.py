"""SetTrans as ONNX graphs, and the runtime that runs them without torch."""
