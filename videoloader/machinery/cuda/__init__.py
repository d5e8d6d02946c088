"""CUDA for decoding and operators: `launching.py` starts kernels, `streams.py` orders streams."""
