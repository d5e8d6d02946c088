"""H.264: `sequence.py` parses sequence parameter sets, `order.py` picture order counts."""
