"""References between pictures, from packet headers: disposable packets, `PictureReader`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.av1.frames import Av1References, keep_frames
from videoloader.codecs.nal import (
    Walked,
    annexb_units,
    disposable_in_memory,
    disposable_packets,
    has_b_slices,
    length_units,
    walk_units,
)
from videoloader.codecs.picture import CodedPicture
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.decode_scan import scan_order
from videoloader.indexing.order.picture_order import picture_order, with_order
from videoloader.indexing.packets import PacketFlags
from videoloader.indexing.payloads import Packets, head_windows, read_packets
from videoloader.sources.source import Source

_CHUNK = 256


def classify_packets(index: VideoIndex, packets: Packets) -> NDArray[np.bool_]:
    """Mask of the disposable ones of some packets; all False if headers of the codec do not say."""
    codec = codec_of(index.codec)
    if codec.nal is not None:
        memory, places, size = packets.memory, packets.places(), index.length_size
        return disposable_in_memory(codec.nal, memory, places, size, sub_layers=index.sub_layers)
    if codec.disposable is not None:
        return np.array(codec.disposable(index.extradata_of(0), [*packets]), dtype=np.bool_)
    return np.zeros(len(packets), dtype=np.bool_)


def read_headers(index: VideoIndex, source: Source) -> VideoIndex:
    """The same index with `DISPOSABLE` known for every packet.

    If packets are contiguous, only the beginnings of their units are read from a local file, and
    from a URL if the packets are large. Otherwise whole packets are read, nearby ones together.

    If timestamps show no reordering but there are B slices, frames are renumbered by picture
    order.
    """
    if index.has_headers:
        return index
    table = index.packets
    found = np.zeros(len(table), dtype=np.bool_)
    has_b = False
    nal = codec_of(index.codec).nal
    if nal is not None and index.packing.is_plain and index.length_size:
        is_forward = nal.has_slice_types and bool((np.diff(index.frame_packets) > 0).all())
        sizes = table["size"].astype(np.int64)
        for some, read, starts in head_windows(source, index.length_size, table["offset"], sizes):
            walked: Iterable[Walked] = walk_units(read, starts, sizes[some], index.length_size)
            if is_forward and not has_b:
                walked = list(walked)
                has_b = has_b_slices(walked)
            layers = index.sub_layers
            found[some] = disposable_packets(nal, walked, len(starts), sub_layers=layers)
    else:
        payloads = read_packets(index, source)
        for start in range(0, len(table), _CHUNK):
            numbers = np.arange(start, min(start + _CHUNK, len(table)))
            packets = Packets.of([*itertools.islice(payloads, len(numbers))])
            found[numbers] = classify_packets(index, packets)
    index = index.with_flags(PacketFlags.DISPOSABLE, found, has_headers=True)
    if not has_b:
        return index
    ordered, order_known = with_order(index, picture_order(index, source))
    return ordered if order_known else scan_order(index, read_packets(index, source))


class PictureReader:
    """Tracks references through successive packets of one video, from a keyframe on.

    Args:
        index: of the video.
        packet: number of the first packet that will be read.
        payload: its bytes.

    Raises:
        FormatError: references of the codec are not supported, or its extradata is damaged.
    """

    def __init__(self, index: VideoIndex, packet: int, payload: bytes) -> None:
        self._length_size = index.length_size
        references = codec_of(index.codec).references
        if references is None:
            raise FormatError(f"references of {index.codec} are not followed")
        self._follower = references(index.extradata_of(packet), payload, index.length_size)

    @property
    def count(self) -> int:
        """Number of pictures read so far, which is the number of the next one."""
        return self._follower.count

    @property
    def held(self) -> set[int]:
        """Numbers of the pictures read so far that later ones may refer to."""
        return self._follower.held

    def read(self, payload: bytes) -> list[CodedPicture]:
        """The pictures of the next packet.

        Raises:
            FormatError: it is damaged or unsupported.
        """
        if isinstance(self._follower, Av1References):
            return self._follower.read(payload)
        view = memoryview(payload)
        if self._length_size:
            return self._follower.read(length_units(view, self._length_size))
        begins = [*annexb_units(payload), len(payload) + 3]
        return self._follower.read(
            view[begin : after - 3] for begin, after in itertools.pairwise(begins)
        )

    def cut(self, payload: bytes, keep: Sequence[bool]) -> bytes:
        """The packet without the pictures for which `keep` is False; empty if none remain.

        A packet whose codec has no separable pictures counts as one picture.
        """
        if all(keep):
            return payload
        if not any(keep):
            return b""
        return keep_frames(payload, keep)
