"""The order of frames where timestamps are missing or doubtful."""
