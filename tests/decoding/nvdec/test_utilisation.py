"""How busy NVDEC is, as a stand-in for the driver's library tells it."""

import sys
from types import SimpleNamespace

import pytest
import torch

from videoloader.decoding.nvdec import utilisation


class NVMLError(Exception):
    pass


@pytest.fixture
def driver(monkeypatch):
    """A driver with two GPUs, in another order than CUDA has them."""
    busy = {"GPU-a": 40, "GPU-b": 7}
    calls = []

    def read(handle):
        if handle not in busy:
            raise NVMLError
        return busy[handle], 1000

    library = SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: calls.append("init"),
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetDecoderUtilization=read,
        busy=busy,
        calls=calls,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda device: SimpleNamespace(uuid="ba"[device.index or 0]),
    )
    utilisation._handle.cache_clear()
    yield library
    utilisation._handle.cache_clear()


def test_the_use_is_that_of_the_device(driver):
    assert utilisation.nvdec_use("cuda:0") == 7
    assert utilisation.nvdec_use("cuda:1") == 40
    driver.busy["GPU-b"] = 8
    assert utilisation.nvdec_use("cuda:0") == 8
    assert driver.calls == ["init"] * 2  # once for each device


def test_what_the_driver_does_not_tell_is_left_out(driver):
    driver.busy.clear()
    assert utilisation.nvdec_use("cuda:0") is None


def test_without_the_library_nothing_is_told(driver, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert utilisation.nvdec_use("cuda:0") is None
