"""Decoders that `decode_batch`, loaders and pipelines share, for some tests alone."""

from contextlib import contextmanager
from functools import cache

import pytest

__all__ = ["own_decoders"]


@contextmanager
def own_decoders():
    """Those that are shared meanwhile are new, and are closed in the end."""
    from videoloader.decoding import batch_decoder

    made = []

    @cache
    def shared(device, workers, limits, process):
        made.append(batch_decoder.BatchDecoder(device, workers=workers, **limits._asdict()))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_decoder, "_shared", shared)
        yield
    for decoder in made:
        decoder.close()
