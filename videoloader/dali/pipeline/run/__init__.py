"""Running a compiled graph: the state of a batch, sources, threads, checkpoints."""
