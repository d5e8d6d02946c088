"""FFmpeg's four-letter codes of codecs and pixel formats, which OpenCV tells as numbers."""

from __future__ import annotations

import ctypes
from functools import cache


def codec_fourcc(codec: str, tag: str = "") -> int:
    """A codec's name if it has four letters, else its first tag in AVI or MOV.

    Args:
        codec: FFmpeg's name.
        tag: where FFmpeg's tables cannot be asked.
    """
    if len(codec) == 4:
        return int.from_bytes(codec.encode(), "little")
    library = _libavcodec()
    described = None if library is None else library.avcodec_descriptor_get_by_name(codec.encode())
    if library is None or described is None:
        return int.from_bytes(tag.encode("latin-1", "replace")[:4], "little")
    number = ctypes.c_int.from_address(described).value  # the first field is the id
    tables = library.avformat_get_riff_video_tags(), library.avformat_get_mov_video_tags()
    return int(library.av_codec_get_tag((ctypes.c_void_p * 3)(*tables, None), number))


def pixel_fourcc(pixel_format: str) -> int:
    """The code of raw video in a pixel format, such as `I420`; 0 if it has none."""
    library = _libavcodec()
    if library is None:
        return 0
    return int(library.avcodec_pix_fmt_to_codec_tag(library.av_get_pix_fmt(pixel_format.encode())))


@cache
def _libavcodec() -> ctypes.CDLL | None:
    """FFmpeg as PyAV is linked with it; None where PyAV's module does not lead to its functions."""
    import av.container.input

    library = ctypes.CDLL(av.container.input.__file__)
    try:
        library.avcodec_descriptor_get_by_name.argtypes = [ctypes.c_char_p]
        library.avcodec_descriptor_get_by_name.restype = ctypes.c_void_p
        library.avformat_get_riff_video_tags.restype = ctypes.c_void_p
        library.avformat_get_mov_video_tags.restype = ctypes.c_void_p
        library.av_codec_get_tag.argtypes = [ctypes.c_void_p, ctypes.c_int]
        library.av_codec_get_tag.restype = ctypes.c_uint
        library.av_get_pix_fmt.argtypes = [ctypes.c_char_p]
        library.avcodec_pix_fmt_to_codec_tag.argtypes = [ctypes.c_int]
        library.avcodec_pix_fmt_to_codec_tag.restype = ctypes.c_uint
    except AttributeError:
        return None
    return library
