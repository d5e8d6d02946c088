"""Packets of a run on their way to a decoder: which ones, in what form."""
