"""Whatever runs ahead of its consumer: stages, queues, threads, and their statistics."""
