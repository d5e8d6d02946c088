"""Operators on colours and values of pictures."""
