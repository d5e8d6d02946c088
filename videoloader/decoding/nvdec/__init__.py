"""Decoding on the NVDEC engines of a GPU."""
