"""`fn.readers.video` and its like: files and clips to requests."""
