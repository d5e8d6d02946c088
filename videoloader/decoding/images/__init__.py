"""Decodes still images with libjpeg-turbo, OpenCV, FFmpeg and nvImageCodec.

Start at `request.py` (`ImageRequest`), then `decode.py` (CPU) or `nvimagecodec.py` (GPU).
`header.py` finds the size of an image without a codec, with `raster.py`, `boxed.py` and `tiff.py`.
"""
