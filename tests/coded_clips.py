"""The packets of a clip, to be put into files by hand."""

import videoloader as vl
from videoloader.codecs.records import parameter_sets
from videoloader.codecs.registry import nal_syntax
from videoloader.indexing import open_source
from videoloader.indexing.payloads import read_packets

__all__ = ["Coded", "with_start_codes"]

START = b"\0\0\0\1"


class Coded:
    """The packets of a clip: payloads, times in milliseconds, keyframes, extradata."""

    def __init__(self, path):
        self.path = path
        index = vl.index_video(path)
        with open_source(path) as source:
            self.payloads = list(read_packets(index, source))
        ticks = index.packets["pts"] - index.packets["pts"].min()
        self.times = (ticks * 1000 * index.time_base).astype(int).tolist()
        self.keys = (index.packets["flags"] & 1 > 0).tolist()
        self.codec, self.record = index.codec, index.extradata_of(0)
        self.sets = b""
        if self.codec in ("h264", "hevc"):
            sets = parameter_sets(nal_syntax(self.codec), self.record)
            self.sets = b"".join(START + unit for unit in sets)

    @property
    def stream(self):
        """The packets with start codes, parameter sets in front of keyframes."""
        if not self.sets:
            return self.payloads
        return [
            (self.sets if key else b"") + with_start_codes(payload)
            for payload, key in zip(self.payloads, self.keys, strict=True)
        ]


def with_start_codes(payload):
    made, at = b"", 0
    while at < len(payload):
        size = int.from_bytes(payload[at : at + 4], "big")
        made += START + payload[at + 4 : at + 4 + size]
        at += 4 + size
    return made
