"""HEVC: parameter sets, picture order counts, and references between pictures."""
