"""Pipelines as iterators over dicts of torch tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from videoloader.dali.pipeline import Pipeline
from videoloader.dali.plugin.data_and_label import DataAndLabel
from videoloader.dali.plugin.dense import dense
from videoloader.dali.plugin.epoch_plan import LastBatchPolicy
from videoloader.dali.plugin.iteration import BatchIterator
from videoloader.dali.plugin.pytorch.outputs import Packed, packed, sparse_coo, sparse_list
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError

Value = torch.Tensor | list[torch.Tensor] | Packed

_FORMS: dict[str, Callable[[str, TensorList, int], Value]] = {
    "dense": dense,
    "sparse_list": sparse_list,
    "sparse_coo": sparse_coo,
    "packed": packed,
}


class GenericIterator(BatchIterator[list[dict[str, torch.Tensor]]]):
    """Iterates over pipelines that run in step, epoch by epoch.

    Each item is a list with one dict for each pipeline, from output name to a tensor (N, ...)
    that the caller owns. `iter()` at the end of an epoch begins the next one, so a `for` loop
    after another needs no `reset`.

    Args:
        pipelines: one pipeline, or several with the same batch size.
        output_map: a name for each output.
        size: samples in an epoch, over all pipelines; -1 goes on until a source ends, with one
            pipeline only. A source that ends before has shorter epochs; one that has ended begins
            again with the next epoch. Not together with `reader_name`.
        reader_name: the reader that says how long an epoch is. Use this where there is one.
        auto_reset: "yes" or True: `next()` goes on with the next epoch after StopIteration. "no",
            False or None: it raises StopIteration until `reset()` or `iter()`.
        fill_last_batch: deprecated: True is FILL, False is PARTIAL.
        dynamic_shape: no meaning; DALI takes it too.
        last_batch_padded: with `size`, whether the pipelines pad the last batch; a reader says so
            itself.
        last_batch_policy: what to do with a last batch that the epoch does not fill; without
            `size` and `reader_name` batches are given as they come.
        prepare_first_batch: let the pipelines begin right away.

    Threads may share an iterator: they take turns, and each batch goes to one of them. Each gets
    StopIteration at the end of the epoch; let one thread begin the next, without `auto_reset`.

    A pipeline without samples left, because its shard is smaller than another's, gives tensors
    with N = 0 for PARTIAL.

    >>> from videoloader.dali import fn, pipeline_def
    >>> @pipeline_def(batch_size=2, num_threads=1)
    ... def clips():
    ...     return fn.readers.video(file_root="videos/", sequence_length=40, name="Reader")
    >>> for (batch,) in GenericIterator([clips()], ["data", "label"], reader_name="Reader"):
    ...     print(batch["data"].shape, batch["label"].flatten().tolist())
    torch.Size([2, 40, 64, 96, 3]) [0, 0]
    torch.Size([2, 40, 64, 96, 3]) [0, 0]
    torch.Size([2, 40, 64, 96, 3]) [1, 1]
    torch.Size([2, 40, 64, 96, 3]) [1, 1]
    """

    def _item(
        self, batches: Sequence[tuple[Sequence[TensorList], int]]
    ) -> list[dict[str, torch.Tensor]]:
        return [
            {
                name: dense(name, output, count)
                for name, output in zip(self.output_map, outputs, strict=True)
            }
            for outputs, count in batches
        ]


class ClassificationIterator(DataAndLabel[list[dict[str, torch.Tensor]]], GenericIterator):
    """`GenericIterator` over pipelines with two outputs, which it names "data" and "label".

    >>> from videoloader.dali import fn, pipeline_def
    >>> @pipeline_def(batch_size=4, num_threads=1)
    ... def clips():
    ...     return fn.readers.video(file_root="videos/", sequence_length=90, name="Reader")
    >>> (batch,) = next(ClassificationIterator(clips(), reader_name="Reader"))
    >>> batch["data"].shape, batch["label"].flatten()
    (torch.Size([4, 90, 64, 96, 3]), tensor([0, 0, 1, 1], dtype=torch.int32))
    """


class RaggedIterator(BatchIterator[list[dict[str, Value]]]):
    """`GenericIterator` for outputs whose samples differ in shape.

    Args:
        output_types: for each output the form that it is given in; dense by default.
            `DENSE_TAG`: one tensor (N, ...), an error where the samples differ in shape.
            `SPARSE_LIST_TAG`: a list of tensors, one for each sample.
            `SPARSE_COO_TAG`: one sparse tensor (N, largest extents), in which every element of a
            sample is stored, zeros too.
            `PACKED_TAG`: a `Packed` of one tensor with the samples one behind the other along their
            first dimension, and of where each begins; an error where they differ in another one.
        others: as in `GenericIterator`.

    >>> from videoloader.dali import fn, pipeline_def
    >>> @pipeline_def(batch_size=2, num_threads=1)
    ... def vectors():
    ...     return fn.external_source([[torch.ones(2), torch.ones(5)]], batch=True)
    >>> with RaggedIterator(vectors(), ["data"], output_types=["sparse_list"]) as batches:
    ...     [len(each) for each in next(batches)[0]["data"]]
    [2, 5]
    """

    DENSE_TAG = "dense"
    SPARSE_LIST_TAG = "sparse_list"
    SPARSE_COO_TAG = "sparse_coo"
    PACKED_TAG = "packed"

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        self._output_types = _output_types(output_types, output_map)
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _item(self, batches: Sequence[tuple[Sequence[TensorList], int]]) -> list[dict[str, Value]]:
        return [
            {
                name: _FORMS[form](name, output, count)
                for name, output, form in zip(
                    self.output_map, outputs, self._output_types, strict=True
                )
            }
            for outputs, count in batches
        ]


def _output_types(types: Sequence[str] | None, output_map: Sequence[str]) -> list[str]:
    if types is None:
        return ["dense"] * len(output_map)
    for name in types:
        if name not in _FORMS:
            raise ArgumentError(f"output_types must be of {', '.join(_FORMS)}, got {name!r}")
    if len(types) != len(output_map):
        raise ArgumentError(
            f"output_types has {len(types)} entries for {len(output_map)} names in output_map"
        )
    return list(types)
