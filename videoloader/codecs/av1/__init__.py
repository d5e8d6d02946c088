"""AV1: `units.py` parses OBUs and sequence headers, `frames.py` references between frames."""
