"""Opening sources once: their indexes, kept and shared."""
