"""Operators on sound: from a signal to features of speech and music."""
