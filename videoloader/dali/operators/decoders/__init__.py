"""Operators that decode or write images and compressed tensors."""
