"""`fn.readers.webdataset`: samples of tar archives, a member for each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import BOOL, DTYPES, REQUIRED, Argument, Kind
from videoloader.dali.operators.context import Sample
from videoloader.dali.readers.files.reader import TEXTS
from videoloader.dali.readers.records.archive_samples import Component, read_archive, read_index
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.errors import ArgumentError, FormatError
from videoloader.machinery.system.address import public, shown
from videoloader.sources.opening import open_member

_MISSING = ("empty", "skip", "error")


def _missing(value: Any) -> str:
    return str(value).lower() or "empty"


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return len(arguments["ext"])


def _check(arguments: Mapping[str, Any]) -> None:
    for name, partner in (("index_paths", "paths"), ("dtypes", "ext")):
        values, count = arguments[name], len(arguments[partner])
        if values and len(values) != count:
            raise ArgumentError(
                f"fn.readers.webdataset: {len(values)} {name} for {count} of {partner}"
            )
    for name in ("paths", "ext"):
        if not arguments[name]:
            raise ArgumentError(f"fn.readers.webdataset: {name} is empty")


class _Samples:
    """The samples of archives: for each output a component, or None."""

    def __init__(
        self,
        paths: Sequence[str],
        samples: Sequence[tuple[int, tuple[Component | None, ...]]],
        ends: NDArray[np.int64],
        dtypes: Sequence[torch.dtype],
    ) -> None:
        self._paths = paths
        self._samples = samples
        self.ends = ends
        self._dtypes = dtypes

    def __len__(self) -> int:
        return len(self._samples)

    def name(self, number: int) -> str:
        archive, components = self._samples[number]
        first = next((each for each in components if each is not None), Component("", 0, 0))
        return f"{shown(self._paths[archive])}:{first.offset}:{first.name}"

    def read(self, number: int) -> tuple[Sample, ...]:
        archive, components = self._samples[number]
        path = self._paths[archive]
        return tuple(
            _read(path, component, dtype)
            for component, dtype in zip(components, self._dtypes, strict=True)
        )


def _read(path: str, component: Component | None, dtype: torch.dtype) -> Sample:
    if component is None:
        return Sample(torch.empty(0, dtype=dtype))
    data = np.empty(0, np.uint8)
    if component.size:
        member = {"name": component.name, "offset": component.offset, "size": component.size}
        with open_member(path, **member) as source:  # type: ignore[arg-type]
            data = source.array(0, component.size)
    if component.size % dtype.itemsize:
        raise FormatError(
            f"{shown(path)}/{component.name}: {component.size} bytes are no whole number of {dtype}"
        )
    origin = f"{public(path)}:{component.offset}:{component.name}"
    return Sample(torch.from_numpy(data).view(dtype), source_info=origin)


@declare_reader(
    "readers.webdataset",
    num_outputs=_num_outputs,
    arguments=(
        Argument("paths", TEXTS, REQUIRED, "tar archives: paths or URLs"),
        Argument(
            "ext",
            TEXTS,
            REQUIRED,
            'for each output the extensions that it may have, such as "jpg;png"',
        ),
        Argument("index_paths", TEXTS, (), "an index file for each archive, as `wds2idx` writes"),
        Argument("case_sensitive_extensions", BOOL, default=True, doc="whether case matters there"),
        Argument(
            "missing_component_behavior",
            Kind("str", _missing),
            "empty",
            "without a member for an output: `empty` gives an empty one, `skip` leaves the sample "
            "out, `error` fails when the pipeline is built",
            choices=_MISSING,
        ),
        Argument("dtypes", DTYPES, (), "of the outputs; uint8 by default"),
    ),
    check=_check,
    by_files=True,
)
def read_webdataset(**arguments: Any) -> _Samples:
    """Read samples of tar archives.

    Consecutive members whose names are alike up to the first dot are a sample; what is behind that
    dot is the extension by which a member becomes an output, the first one of several. Archives
    without an index file are looked through when the pipeline is built. `shuffle_after_epoch`
    permutes the archives and keeps the order in each.

    Outputs: the bytes of a member for each of `ext`, 1-D, seen as elements of its `dtypes`.
    """
    paths, indexes = arguments["paths"], arguments["index_paths"]
    fold = str if arguments["case_sensitive_extensions"] else str.lower
    wanted = [{fold(each) for each in option.split(";")} for option in arguments["ext"]]
    behaviour = arguments["missing_component_behavior"]
    samples: list[tuple[int, tuple[Component | None, ...]]] = []
    ends = []
    for archive, path in enumerate(paths):
        listed = read_index(indexes[archive]) if indexes else read_archive(path)
        for components in listed:
            chosen = tuple(
                next((each for each in components if fold(each.extension) in options), None)
                for options in wanted
            )
            if None in chosen and behaviour == "error":
                raise FormatError(
                    f"{shown(path)}: the sample of {components[0].name!r} has no member for "
                    f"{arguments['ext'][chosen.index(None)]!r}; missing_component_behavior="
                    '"empty" or "skip" allow that'
                )
            if None not in chosen or behaviour == "empty":
                samples.append((archive, chosen))
        ends.append(len(samples))
    if not samples:
        raise ArgumentError(f"fn.readers.webdataset: no sample has members for {arguments['ext']}")
    dtypes = arguments["dtypes"] or (torch.uint8,) * len(wanted)
    return _Samples(paths, samples, np.array(ends), dtypes)
