"""The sound of clips of real files beside FFmpeg's decode of the whole stream, laid out in time."""

import math

import av
import numpy as np
import pytest
from corpus_files import corpus_files

import videoloader as vl
from videoloader.audio.elements import to_float32

# One of each container and way of timing: edit lists, wrapped timestamps, holes in the sound.
NAMES = {
    "androidx-media__sample_edit_list.mp4",
    "androidx-media__sample_partially_fragmented.mp4",
    "androidx-media__bbb_2500ms.ts",
    "androidx-media__sample.mkv",
    "androidx-media__bt601.mov",
    "go-mp4__sample_fragmented.mp4",
    "mp4ff__ed_hevc.mp4",
    "mp4parser__MOV00006.3gp",
    "opencv__box.mp4",
    "shaka-packager__bear-640x360_ptswraparound.ts",
    "shaka-packager__bear.avi",
    "shaka-packager__bear.flv",
    "shaka-packager__bear.mpeg",
    "shaka-packager__nonzero-start-time.webm",
    "shaka-player__segment.ts",
}


def whole_sound(path):
    """(samples (n, channels), seconds of the first, rate); zeros in holes of more than 40 ms."""
    parts, begin, count = [], None, 0
    with av.open(str(path)) as container:
        stream = container.streams.best("audio")
        for frame in container.decode(stream):
            values = frame.to_ndarray()
            if not frame.format.is_planar:
                values = values.reshape(-1, frame.layout.nb_channels).T
            seconds = None if frame.pts is None else float(frame.pts * frame.time_base)
            if begin is None:
                begin = seconds or 0.0
            hole = 0 if seconds is None else (seconds - begin) * stream.rate - count
            if hole > 0.04 * stream.rate:
                parts.append(np.zeros((len(values), round(hole)), np.float32))
                count += round(hole)
            parts.append(to_float32(values))
            count += values.shape[1]
        return np.concatenate(parts, axis=1).T, begin, stream.rate


@pytest.mark.parametrize("file", corpus_files(lambda file: file.path.name in NAMES))
def test_the_sound_of_a_clip_is_that_part_of_the_whole(file):
    samples, begin, rate = whole_sound(file.path)
    with vl.Video(file.path) as video:
        first, stop = len(video) // 3, min(len(video) // 3 + 20, len(video) - 1)
        clip = video.get_frames(start=first, stop=stop, audio=True, size=32)
        times = video.index.pts * float(video.index.time_base)  # of one file in another order
    span = clip.times.min(), times[times > clip.times.max() + 1e-9].min()
    low, high = (math.ceil((at - begin) * rate - 1e-3) for at in span)
    padded = np.pad(samples, ((max(-low, 0), max(high - len(samples), 0)), (0, 0)))
    assert clip.audio_sample_rate == rate
    assert np.array_equal(clip.audio, padded[max(low, 0) :][: high - low])
