"""FFmpeg's decoders, in this process or in worker processes."""
