"""The pipeline: one module per stage, each a pure function of the fleet and the instant."""
