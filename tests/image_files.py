"""Small encoded images, made here or stored with what DALI decodes them to."""

from functools import cache
from pathlib import Path

import cv2
import numpy as np

__all__ = ["FILES", "encoded", "picture", "references"]


def picture(height, width, channels=3, dtype=np.uint8):
    """A picture whose channels differ, with smooth and sharp parts."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [x * 255 // width, y * 255 // height, (x + y) % 37 * 6, 255 - x * 200 // width]
    pixels = np.stack(planes[:channels], -1).astype(dtype)
    return pixels * 257 if dtype == np.uint16 else pixels


def encoded(pixels, extension, *options):
    """The bytes of a file of these pixels: grey, RGB or RGBA."""
    order = [2, 1, 0, 3][: pixels.shape[-1]] if pixels.shape[-1] > 1 else [0]
    done, data = cv2.imencode(f".{extension}", np.ascontiguousarray(pixels[..., order]), options)
    assert done
    return data.tobytes()


@cache
def references():
    """Arrays by name: files, and for "name TYPE" what DALI makes of them."""
    with np.load(Path(__file__).parent / "dali" / "references" / "images.npz") as stored:
        return dict(stored)


FILES = {name: data.tobytes() for name, data in references().items() if " " not in name}
