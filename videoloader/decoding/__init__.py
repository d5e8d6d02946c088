"""`ClipRequest`s in, frames out: the only way from a file to decoded pictures.

Start at `batch_decoder.py` (`BatchDecoder`). `opening/` opens files and finds their indexes,
`assembly.py` (`Assembly`) holds the clips of a batch while they are decoded, `packets/` chooses the
packets. Engines decode them: `cpu/local.py` in this process, `cpu/engine.py` in workers,
`nvdec/engine.py` on a GPU. `pictures/` converts to RGB. `images/` decodes still images.
`request.py`, `options.py` and `output.py` are what callers may ask for.

For `videoloader.dali`: `attempts.py`, `batch_decoder.py`, `clip_batch.py`, `clip_cache.py`,
`failures.py`, `framing.py`, `images/decode.py`, `images/header.py`, `images/nvimagecodec.py`,
`images/pixels.py`, `images/request.py`, `images/scale.py`, `limits.py`, `memory.py`,
`opening/index_cache.py`, `opening/indexer.py`, `opening/videos.py`, `options.py`, `output.py`,
`request.py`, `sound_spans.py`.
"""
