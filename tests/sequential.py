"""FFmpeg's sequential decode, against the same frames fetched one by one in another order."""

import hashlib
import io
import random

import av
import numpy as np

import videoloader as vl

__all__ = ["agrees", "digest", "frames_of", "sequential"]


def digest(data):
    """The hash of a picture's planes, one behind the other."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def sequential(data):
    """Hashes of all frames in the order in which FFmpeg decodes them (planar formats)."""
    hashes = []
    with av.open(io.BytesIO(data)) as container:
        video = container.streams.best("video")
        video.thread_type = "NONE"
        for packet in container.demux(video):
            try:
                frames = packet.decode()
            except av.error.FFmpegError:
                continue  # as the command does, which goes on behind damage
            hashes += [digest(frame.to_ndarray().tobytes()) for frame in frames]
    return hashes


def frames_of(data, index, seed=0):
    """Hashes of all frames by number, decoded in a shuffled order and one by one."""
    numbers = list(range(index.num_frames))
    random.Random(seed).shuffle(numbers)
    hashes = {}
    with vl.Video(data, index=index) as video:
        for number in numbers:
            ((_, surface),) = video.decode([number])
            planes = [np.ascontiguousarray(plane).tobytes() for plane in surface.planes]
            hashes[number] = digest(b"".join(planes))
    return [hashes[number] for number in range(index.num_frames)]


def agrees(data, index):
    """Whether frames are those of the sequential decode, in its order."""
    return frames_of(data, index) == sequential(data)
