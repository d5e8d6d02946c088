"""The decoders of a GPU."""
