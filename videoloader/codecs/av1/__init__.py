"""AV1: OBUs and sequence headers, and references between frames."""
