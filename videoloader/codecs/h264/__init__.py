"""H.264: sequence parameter sets, and picture order counts."""
