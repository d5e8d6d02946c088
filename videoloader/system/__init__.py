"""Forks, whole files, pickles of functions, warnings at the line of the caller."""
