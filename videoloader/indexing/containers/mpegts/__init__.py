"""MPEG transport streams: indexed from the headers of their packets and pictures."""
