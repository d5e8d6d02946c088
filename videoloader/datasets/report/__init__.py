"""Pages about a data set: one file to keep, or served to a browser."""
