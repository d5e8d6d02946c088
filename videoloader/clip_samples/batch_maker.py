"""Makes the batches of a loader out of the numbers of samples, in its process or in another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from videoloader.clip_samples.batch_content import batch_content, batch_tensors, transformed
from videoloader.clip_samples.decoding import DecodedSamples, SampleDecoder
from videoloader.clip_samples.label_values import VideoLabels
from videoloader.clip_samples.requests import SampleKey
from videoloader.cuda.streams import wait_for
from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.runtime.monitor import Meter

__all__ = ["BatchMaker"]


@dataclass(frozen=True, slots=True, eq=False)
class BatchMaker:
    """What all batches of a loader are made by.

    Attributes:
        samples: decodes them.
        labels: of all videos, if there are any.
        transform: of each sample, see `Loader`.
    """

    samples: SampleDecoder
    labels: VideoLabels | None
    transform: Callable[[dict[str, Any]], Any] | None

    def decode(
        self, decoder: BatchDecoder, keys: Sequence[SampleKey], meter: Meter, stream: Any
    ) -> DecodedSamples:
        """Decode a batch.

        Args:
            decoder: does it.
            keys: of its samples.
            meter: counts the time and the work.
            stream: the current one, None on the CPU.
        """
        with meter.measure("decode", len(keys)):
            batch = self.samples.decode(decoder, keys)
        meter.add_work(batch.clips.work)
        if stream is not None:
            batch.ready = stream.record_event()
        return batch

    def finish(self, batch: DecodedSamples, meter: Meter) -> Any:
        """A batch as the training loop gets it, ready on the current stream."""
        samples = self.samples
        wait_for(batch.ready, batch_tensors(batch))
        result = batch_content(batch, samples.requests, samples.output.layout, self.labels)
        if samples.failures.policy.on_error in ("replace", "mask"):
            result["error"] = batch.errors
        if self.transform is None:
            return result
        draw = partial(samples.requests.transform_rng, epoch=batch.epoch)
        with meter.measure("transform", len(batch.samples)):
            return transformed(result, self.transform, [*map(draw, batch.samples.tolist())])
