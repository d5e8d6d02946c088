"""Raw AV1 streams (AV1 specification, section 5): consecutive OBUs without a container."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from videoloader.codecs.av1 import units as av1
from videoloader.indexing.containers.container import Container, Indexed, past_the_end, table_index
from videoloader.indexing.containers.frame_flags import av1_flags
from videoloader.indexing.packets import order_is_known, packet_table
from videoloader.sources.local import nearby
from videoloader.sources.source import Source

_FIRST = b"\x12\x00\x0a"  # a delimiter, and a sequence header OBU with a size field
_TIME_BASE, _STEP = Fraction(1, 1_200_000), 48_000  # FFmpeg's defaults for raw streams: 25 fps


def index_obu(source: Source, *, stream: int | None = None) -> Indexed:
    """Index a raw AV1 stream.

    Returns:
        The index, and whether each temporal unit shows one frame; None for another format.
    """
    if stream not in (None, 0):
        return None
    source = nearby(source)
    units = av1.temporal_units(source.read_up_to, source.size)
    if units is None:
        return None
    offsets, end = units
    if end > source.size:
        *offsets, stop = offsets
        if not offsets:
            return None
    else:
        stop = end
    sizes = np.diff(offsets, append=stop)
    first = source.read(0, int(sizes[0]))
    extradata = av1.sequence_unit(first)
    sequence = av1.parse_sequence(extradata)
    if sequence is None:
        return None
    flags, shown = av1_flags(source, offsets, sizes.tolist(), sequence)
    times = np.arange(len(offsets)) * _STEP
    table = packet_table(
        offsets, sizes, pts=times, dts=times, flags=flags, durations=np.full(len(offsets), _STEP)
    )
    warnings = past_the_end(source, "the last unit", end)
    if not warnings and not shown[-1]:
        warnings = (f"{source.name}: truncated: the last temporal unit shows no frame",)
    index = table_index(
        source,
        sequence.picture,
        table,
        time_base=_TIME_BASE,
        codec="av1",
        container=OBU.name,
        extradata=((0, extradata),),
        warnings=warnings,
    )
    return index, order_is_known(table) and all(count == 1 for count in shown)


OBU = Container(
    name="obu",
    endings=(".obu",),
    begins=lambda head: head.startswith(_FIRST),
    parser=index_obu,
    times="none",
)
