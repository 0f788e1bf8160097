"""What takes minutes and so is no part of the gate: `make soak`, or `pytest tests/soak`."""
