"""Operators on tensors of any layout: shapes, slices, joins, reductions."""
