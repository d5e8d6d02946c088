"""Errors of the proxy name inputs without what may be secret in them."""

import traceback

import numpy as np
import pytest
from torch.utils.data import default_collate

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import proxy
from videoloader.errors import VideoError

URL = "https://canary-user:canary-pass@host.invalid/a.png?signature=canary-key"


@pytest.mark.parametrize("is_text", [False, True])
def test_a_url_among_the_inputs_is_shown_without_its_secrets(is_text):
    @pipeline_def(batch_size=2, num_threads=1, prefetch_queue_depth=1)
    def decoding():
        return fn.decoders.image(fn.external_source(name="x"))

    given = URL if is_text else np.frombuffer(URL.encode(), np.uint8)
    with proxy.Server(decoding()) as server:
        with pytest.raises(VideoError, match=r"host\.invalid/a\.png") as caught:
            server.produce_data(default_collate([server.proxy(given)]))
        assert "canary" not in "".join(traceback.format_exception_only(caught.value))
