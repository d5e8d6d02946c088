"""Settings of buffers and pools: what DALI tunes memory with."""

import pytest

from videoloader.dali import backend

LIMITS = {
    "HostBufferShrinkThreshold": (0, 1),
    "HostBufferGrowthFactor": (1, 4),
    "DeviceBufferGrowthFactor": (1, 4),
}


@pytest.fixture(autouse=True)
def _restored():
    """Settings are those of the process."""
    before = {name: getattr(backend, f"Get{name}")() for name in LIMITS}
    yield
    for name, value in before.items():
        getattr(backend, f"Set{name}")(value)


@pytest.mark.parametrize(("name", "limits"), LIMITS.items())
def test_a_setting_keeps_a_value_in_its_range(name, limits):
    set_value, get_value = getattr(backend, f"Set{name}"), getattr(backend, f"Get{name}")
    for value in (*limits, sum(limits) / 2):
        set_value(value)
        assert get_value() == value
    for value in (limits[0] - 0.01, limits[1] + 0.01, float("nan")):
        with pytest.raises(ValueError, match="must be a number from"):
            set_value(value)
        assert get_value() == sum(limits) / 2


def test_one_call_sets_the_growth_of_both_kinds_of_buffers():
    backend.SetBufferGrowthFactor(1.5)
    assert backend.GetHostBufferGrowthFactor() == 1.5
    assert backend.GetDeviceBufferGrowthFactor() == 1.5


@pytest.mark.gpu
def test_memory_of_a_gpu_is_kept_ahead_and_given_back():
    import torch

    size = 64 << 20
    backend.ReleaseUnusedMemory()
    before, used = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()
    backend.PreallocateDeviceMemory(size, 0)
    assert torch.cuda.memory_reserved() >= before + size
    assert torch.cuda.memory_allocated() == used
    backend.PreallocatePinnedMemory(1 << 20)
    backend.ReleaseUnusedMemory()
    assert torch.cuda.memory_reserved() <= before
