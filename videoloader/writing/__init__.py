"""Frames become files: encoding, cutting, and transcoding of whole data sets."""
