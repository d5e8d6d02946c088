"""What decoding and operators need of CUDA: launches, streams, memory."""
