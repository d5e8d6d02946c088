"""Frames become a file: encoding and cutting."""
