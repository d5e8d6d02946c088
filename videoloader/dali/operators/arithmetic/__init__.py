"""Arithmetic of data nodes, tensors and batches: element types, broadcasting and functions."""
