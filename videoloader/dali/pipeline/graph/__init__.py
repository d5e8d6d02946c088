"""The graph of a pipeline: nodes, expressions, compilation to stages."""
