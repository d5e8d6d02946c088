"""Headers of coded video, as far as an index and a decode plan need them."""
