"""For tests of decoding: how much decoders are fed."""

import pytest

from videoloader.decoding.cpu.frame_decoder import CpuDecoder


@pytest.fixture
def fed(monkeypatch):
    """How many packets decoders were fed, kept up to date."""
    decoders = []
    begin = CpuDecoder.__init__

    def count(self, *arguments, **options):
        decoders.append(self)
        begin(self, *arguments, **options)

    monkeypatch.setattr(CpuDecoder, "__init__", count)
    return lambda: sum(decoder.counts.packets for decoder in decoders)
