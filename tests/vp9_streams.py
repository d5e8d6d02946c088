"""VP9 streams with hidden frames, which packets of one byte show later."""

import struct

import av

from videoloader.codecs.vpx import join_frames
from videoloader.demo.videos import encode_video

SHOW_FIRST = b"\x88"  # shows the frame in the first slot of references
SHOWN = 2  # the flag in the first byte of a frame


def with_hidden_frames(path, size=(96, 64), frames=60):
    """Write an IVF file whose key frames are hidden at first; returns its packets.

    Each is shown by the next packet, or by a frame of the same superframe, by turns.
    """
    options = {"g": "10", "deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0"}
    encode_video(path, codec="libvpx-vp9", size=size, frames=frames, options=options)
    with av.open(path) as container:
        given = [packet for packet in container.demux(video=0) if packet.size]
    packets, keys = [], 0
    for packet in given:
        data = bytes(packet)
        if not packet.is_keyframe:
            packets.append(data)
            continue
        keys += 1
        hidden = bytes([data[0] & ~SHOWN]) + data[1:]
        packets += [join_frames([hidden, SHOW_FIRST])] if keys % 2 else [hidden, SHOW_FIRST]
    made = path.read_bytes()[:32]
    for number, data in enumerate(packets):
        made += struct.pack("<IQ", len(data), number) + data
    path.write_bytes(made)
    return packets
