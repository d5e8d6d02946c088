"""Decoding on the NVDEC engines of a GPU.

Start at `engine.py` (`GpuEngine`): it makes jobs (`targets.py`) for a pool of threads (`pool.py`),
each with a decoder and a stream (`session.py`; `sessions.py` chooses which to keep).
`hardware_decoder.py` (`HardwareDecoder`) gives packets to a decoder, `convert.py` writes its
surfaces into a batch. `hardware.py` knows what a GPU can decode.
"""
