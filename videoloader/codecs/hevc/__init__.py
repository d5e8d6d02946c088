"""HEVC: parameter sets, presentation order, and references between pictures.

`sequence.py` parses parameter sets and `sets.py` the reference picture sets in them. On these stand
`order.py` (picture order counts) and `references.py` (which pictures a picture depends on).
"""
