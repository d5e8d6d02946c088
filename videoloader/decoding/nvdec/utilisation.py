"""Utilisation of the decoding engines of a GPU, from the driver; needs `pynvml`."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import torch

_log = logging.getLogger(__name__)


def nvdec_use(device: str) -> int | None:
    """Utilisation of the NVDEC engines in percent, by all processes, over the last 20 ms to 1 s.

    None without `pynvml` (package nvidia-ml-py), or if the driver does not report it.
    """
    found = _handle(device)
    if found is None:
        return None
    pynvml, handle = found
    try:
        percent, _ = pynvml.nvmlDeviceGetDecoderUtilization(handle)
    except pynvml.NVMLError:
        return None
    return int(percent)


@cache
def _handle(device: str) -> tuple[Any, Any] | None:
    """`pynvml` and its handle of a torch device. Device numbers of CUDA and NVML may differ."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        uuid = torch.cuda.get_device_properties(torch.device(device)).uuid
        return pynvml, pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
    except (pynvml.NVMLError, AttributeError, RuntimeError) as error:
        _log.debug("%s: the use of NVDEC is not known (%s)", device, error)
        return None
