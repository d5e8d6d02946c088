"""FFmpeg's libswscale as PyAV is linked with it, for calls that PyAV does not offer."""

from __future__ import annotations

import ctypes
from functools import cache

__all__ = ["libswscale"]


@cache
def libswscale() -> ctypes.CDLL | None:
    """The functions of the library; None where PyAV's module does not lead to them."""
    import av.video.reformatter

    number, pointer = ctypes.c_int, ctypes.c_void_p
    library = ctypes.CDLL(av.video.reformatter.__file__)
    try:
        library.av_get_pix_fmt.argtypes = [ctypes.c_char_p]
        library.sws_getContext.argtypes = [*[number] * 7, *[pointer] * 3]
        library.sws_getContext.restype = pointer
        library.sws_getCoefficients.argtypes = [number]
        library.sws_getCoefficients.restype = pointer
        library.sws_setColorspaceDetails.argtypes = [
            pointer,
            *(pointer, number),
            *(pointer, number),
            *[number] * 3,
        ]
        library.sws_scale.argtypes = [pointer, pointer, pointer, number, number, pointer, pointer]
        library.sws_freeContext.argtypes = [pointer]
        library.sws_freeContext.restype = None
    except AttributeError:
        return None
    return library
