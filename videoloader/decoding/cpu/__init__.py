"""FFmpeg's decoders, in this process or in worker processes.

Start at `frame_decoder.py` (`CpuDecoder`): packets in, pictures out. `tasks.py` keeps decoders open
and fills slots by `converters.py` and `rgb.py`. `local.py` runs them in threads of this process;
`engine.py` and `pool.py` in worker processes. `forward.py` reads on from the last call instead of
seeking.
"""
