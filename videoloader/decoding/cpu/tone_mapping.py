"""HDR pictures as SDR ones on the CPU, by the formulas that docs/decoding/colour.md states.

Their sources are ITU-R BT.2100-2 (tables 4 and 5), BT.2408, BT.2087 and BT.1886. The CUDA kernel
has the same in `decoding/nvdec/convert.cu`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.color import HLG, PQ

_WHITE = 203.0  # cd/m2
_PEAK = 1000.0 / _WHITE  # where the curves end
_TOP = 65535.0
_BAND = 1 << 15  # pixels at a time, so that what is in between stays in the second-level cache
_LUMINANCE = np.array([[0.2627, 0.6780, 0.0593]])  # BT.2020
_TO_BT709 = np.array(
    [
        [1.6604910, -0.5876411, -0.0728499],
        [-0.1245505, 1.1328999, -0.0083494],
        [-0.0181508, -0.1005789, 1.1187297],
    ]
)

TRANSFERS = (PQ, HLG)
"""Of pictures that are mapped."""


def tone_map(rgb: NDArray[np.uint16], transfer: str, curve: str, *, top: float) -> None:
    """Map the signal of an HDR picture to BT.709 in place.

    Args:
        rgb: (H, W, 3), 0 to 65535 for 0 to 1; primaries of BT.2020.
        transfer: one of `TRANSFERS`.
        curve: `reinhard` or `hable`.
        top: what 1 becomes.
    """
    import cv2

    table = _light(transfer)
    rows = max(_BAND // rgb.shape[1], 1)
    for begin in range(0, len(rgb), rows):
        band = rgb[begin : begin + rows]
        light = table[band]
        if transfer == HLG:  # the OOTF of a display of 1000 cd/m2
            luminance = cv2.transform(light, _LUMINANCE)
            light *= (_PEAK * luminance.reshape(band.shape[:2]) ** 0.2)[..., None]
        light *= _gain(light.max(axis=2), curve)[..., None]
        narrow = np.clip(cv2.transform(light, _TO_BT709), 0, 1)
        band[...] = np.rint(top * cv2.pow(narrow, 1 / 2.4))


@cache
def _light(transfer: str) -> NDArray[np.float32]:
    """For each value of a signal: of PQ the light in units of white, of HLG that of the scene."""
    signal = np.arange(_TOP + 1) / _TOP
    if transfer == PQ:
        root = signal ** (1 / 78.84375)
        ratio = np.maximum(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)
        light = 10000 / _WHITE * ratio ** (1 / 0.1593017578125)
    else:
        bright = (np.exp((signal - 0.55991073) / 0.17883277) + 0.28466892) / 12
        light = np.where(signal <= 0.5, signal**2 / 3, bright)
    return light.astype(np.float32)


def _gain(brightest: NDArray[np.float32], curve: str) -> NDArray[np.float32]:
    """What all channels are multiplied by, of pixels whose brightest channel is this."""
    bounded: NDArray[np.float32] = np.minimum(brightest, np.float32(_PEAK))
    if curve == "reinhard":
        gain = (1 + bounded / _PEAK**2) / (1 + bounded)
    else:
        gain = _hable(bounded) / (_PEAK * _hable(_PEAK))
    gain *= bounded / np.maximum(brightest, np.float32(1e-30))
    return gain


def _hable(light: Any) -> Any:
    """Hable's curve divided by its argument; on one denominator, so that nothing cancels near 0."""
    return (0.042 * light + 0.005) / (0.3 * (light * (0.15 * light + 0.5) + 0.06))
