"""`find_scenes`: hard cuts between shots, from packet tables and thumbnails of a few frames.

At a cut nothing of the picture can be predicted, so an encoder either places a keyframe there or
spends about as many bytes on a packet as on a keyframe. So the tables name the suspects, and
thumbnails decide: those of keyframes tell whether the picture has changed from one to the next;
decoded frames around a suspect tell where.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.datasets.pictures import AnyVideo, keyframes_of, opened, read_thumbnails
from videoloader.datasets.suspects import Suspect, find_suspects, hides_frames, usual_sizes
from videoloader.video import Video

_CHANGED = 8.0  # of 255: mean difference at which two thumbnails may be of two shots
_STANDS_OUT = 3.0  # how many times as large as the differences beside it a cut is
_RECOLORED = 0.4  # share of pixels with other colours that motion within a GOP rarely makes
_SURE = 0.6  # packet size, relative to the largest suspect, or to a keyframe
_TELLING = 0.35  # share of a keyframe's size; usual packets above it cannot be told from a cut
_SHORT = 60  # frames in which motion rarely changes the colours of a picture as a cut does
_FEW = 3  # with fewer GOPs than this, equal lengths may be chance
_APART = 8  # frames between suspects of different cuts
_CHUNK = 16  # frames decoded between two looks at whether more are needed
_AROUND = 3  # frames before and from a cut on that `_cuts_in` looks at
_KEYS_APART = 8  # least frames between the keyframes that are compared
_KEPT = 64  # thumbnails that are kept for later looks


class Scene(NamedTuple):
    """Frames from one cut to the next.

    Attributes:
        start: first frame.
        stop: end, exclusive.
        start_seconds: presentation time of the first frame.
        stop_seconds: when the last frame ends.

    >>> (scene,) = find_scenes("clip.mp4")
    >>> scene
    Scene(start=0, stop=90, start_seconds=0.0, stop_seconds=3.0)
    """

    start: int
    stop: int
    start_seconds: float
    stop_seconds: float


def find_scenes(source: AnyVideo, *, exact: bool = False) -> list[Scene]:
    """The shots of a video, which hard cuts separate. Fades and dissolves are not looked for.

    Args:
        source: a video, or what `Video` takes. Also a function for `map_clips`.
        exact: also decode frames around suspected cuts, to know the frame and to reject large
            packets without a cut. Otherwise keyframes alone are decoded; a cut between two of them
            is where the packet sizes say, up to half a second away, and cuts between two keyframes
            that look alike are not found.

    Returns:
        At least one; `start` of all but the first are the cuts.

    >>> [(scene.start, scene.stop) for scene in find_scenes("clip.mp4")]
    [(0, 90)]
    """
    with opened(source) as video:
        index = video.index
        cuts = _confirmed(video) if exact else _likely(video)
        starts = sorted({0, *cuts})
        times = index.boundaries
        return [
            Scene(start, stop, float(times[start]), float(times[stop]))
            for start, stop in zip(starts, [*starts[1:], len(index)], strict=True)
        ]


class _Looks:
    """Reads thumbnails of a video, and keeps the last ones.

    The frames around the border of two GOPs are looked at for both of them. Decoding them a second
    time takes a whole GOP.
    """

    def __init__(self, video: Video) -> None:
        self.video = video
        self._frames, self._pixels = np.zeros(0, np.int64), np.zeros((0, 27, 48, 3), np.uint8)

    def at(self, frames: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The thumbnails (n, 27, 48, 3) of frames."""
        missing = np.setdiff1d(frames, self._frames)
        if len(missing):
            read = read_thumbnails(self.video, missing)
            self._frames = np.concatenate([self._frames, read.frames])
            self._pixels = np.concatenate([self._pixels, read.pixels])
        order = np.argsort(self._frames)
        found = self._pixels[order[np.searchsorted(self._frames, frames, sorter=order)]]
        self._frames, self._pixels = self._frames[-_KEPT:], self._pixels[-_KEPT:]
        return found


class _Gop(NamedTuple):
    """Frames from one keyframe that is compared to the next.

    Attributes:
        start, stop: the keyframes; of the last one, the end of the video.
        pixels: their thumbnails; of the last one that of `start` alone.
        recolored: share of the pixels whose colours the other thumbnail lacks, 0 to 1.
        suspects: packets in it as large as after a cut.
        is_telling: whether usual packets are so small that a cut in it would be suspect.
        is_chosen: whether the encoder placed the keyframe `stop` for its picture, not its number;
            None where that is not clear.
    """

    start: int
    stop: int
    pixels: NDArray[np.uint8]
    recolored: float
    suspects: list[Suspect]
    is_telling: bool
    is_chosen: bool | None


def _gops(video: Video) -> list[_Gop]:
    """The video from keyframe to keyframe, whose thumbnails are decoded."""
    index = video.index
    keys = keyframes_of(index)
    chosen = keys[_thinned(keys)]
    pixels = read_thumbnails(video, chosen).pixels
    recolored = [*_recolored(pixels).tolist(), 0.0]
    suspects = find_suspects(index)
    firsts = [each.first for each in suspects]
    sizes, is_key, usual, whole = (values[index.frame_packets] for values in usual_sizes(index))
    lengths = np.diff(keys)
    length_of = dict(zip(keys[1:].tolist(), lengths.tolist(), strict=True))
    regular = _regular_lengths(lengths)
    gops = []
    for place, (start, stop) in enumerate(pairwise([*chosen.tolist(), len(index)])):
        own = suspects[bisect_left(firsts, start) : bisect_left(firsts, stop)]
        least = min(whole[start], *sizes[[start, stop][: len(pixels[place : place + 2])]])
        is_small = is_key[start:stop] | (usual[start:stop] <= _TELLING * least)
        is_telling = bool(is_small.all()) and not hides_frames(index)
        is_chosen: bool | None = stop in length_of and length_of[stop] not in regular
        if not is_chosen and len(lengths) < _FEW:
            is_chosen = None
        shown = pixels[place : place + 2]
        gops.append(_Gop(start, stop, shown, recolored[place], own, is_telling, is_chosen))
    return gops


def _thinned(keys: NDArray[np.int64]) -> list[int]:
    """Places of keyframes at least `_KEYS_APART` frames apart."""
    places = [0] if len(keys) else []
    for place, key in enumerate(keys.tolist()):
        if key - keys[places[-1]] >= _KEYS_APART:
            places.append(place)
    return places


def _regular_lengths(lengths: NDArray[np.int64]) -> set[int]:
    """Lengths of GOPs that come of an encoder's interval between keyframes, not of a cut."""
    values, counts = np.unique(lengths, return_counts=True)
    often = (counts > 1) & (counts >= len(lengths) / 5)
    regular = set(values[often].tolist())
    if len(values) and (values[-1] % 10 == 0 or values[-1] % 12 == 0):
        regular.add(int(values[-1]))  # the longest, of a round number of frames
    return regular


def _likely(video: Video) -> Iterator[int]:
    """Cuts between keyframes that differ, where the packet sizes say."""
    hides = hides_frames(video.index)
    for gop in _gops(video):
        is_last = gop.stop == len(video)
        if not is_last and gop.recolored < _RECOLORED / 2:
            continue
        found = [each for each in _largest(gop.suspects) if not is_last or each.size >= _SURE]
        for suspect in found if is_last or gop.recolored >= _RECOLORED else []:
            width = suspect.last - suspect.first
            # A hidden frame is rarely far behind the packet that it is in.
            middle = suspect.first + (width // 4 if hides else (width + 1) // 2)
            yield min(max(middle, 1), gop.stop - 1)
        if gop.is_chosen or (not found and gop.recolored >= _RECOLORED):
            yield gop.stop


def _largest(suspects: list[Suspect]) -> list[Suspect]:
    """The suspect with the largest packet, among suspects that may be one cut."""
    kept: list[Suspect] = []
    ordered = sorted(suspects, key=lambda each: -each.size)
    for suspect in ordered:
        reach = max(_APART, suspect.last - suspect.first)
        is_apart = all(abs(suspect.first - other.first) > reach for other in kept)
        if is_apart and suspect.size >= _SURE * ordered[0].size:
            kept.append(suspect)
    return kept


def _confirmed(video: Video) -> Iterator[int]:
    """Cuts between frames that were compared, in GOPs where there may be some."""
    gops, looks = _gops(video), _Looks(video)
    if len(gops) == 2:  # the interval of an encoder cannot be told from one length
        gops = [gop._replace(is_chosen=None) for gop in gops]
    for gop in gops:
        if gop.is_telling:
            yield from _cuts_near(looks, gop)
        elif gop.stop == len(video) or gop.recolored >= _RECOLORED / 2:
            yield from _cuts_along(looks, gop)


def _cuts_near(looks: _Looks, gop: _Gop) -> list[int]:
    """Cuts where the packet sizes suggest them, and elsewhere if these do not explain the change.

    Over a long time motion alone changes a picture, so only short gaps are looked at.
    """
    whole = np.arange(gop.start, min(gop.stop, len(looks.video) - 1) + 1)
    found: list[int] = []
    frames, pixels = np.array([gop.start, gop.stop][: len(gop.pixels)]), gop.pixels
    if gop.suspects:
        near = {
            frame
            for each in gop.suspects
            for frame in range(each.first - _AROUND, each.last + _AROUND)
        }
        looked = whole[1:][np.isin(whole[1:], [*near])]
        frames = np.concatenate([frames[:1], looked, frames[1:]])
        pixels = np.concatenate([pixels[:1], looks.at(looked), pixels[1:]])
        found = _cuts_in(frames, pixels)
    is_cut = False
    for place in np.flatnonzero(_recolored(pixels) >= _RECOLORED).tolist():
        begin, end = int(frames[place]), int(frames[place + 1])
        if end == gop.stop and gop.is_chosen:
            is_cut = True
        elif 1 < end - begin <= _SHORT:
            between = np.arange(begin, end + 1)
            found += _cuts_in(between, looks.at(between))
    is_unclear = gop.stop < len(looks.video) and gop.is_chosen is not False
    if is_unclear and _differences(pixels[-2:])[0] >= _CHANGED:
        found.append(gop.stop)
    sure = range(gop.start + _AROUND if gop.start else 0, gop.stop - _AROUND + 1)
    cuts = _checked(looks, {cut for cut in found if cut < gop.stop or not is_cut}, sure)
    return [*cuts, gop.stop] if is_cut else cuts


def _cuts_along(looks: _Looks, gop: _Gop) -> list[int]:
    """Cuts in a GOP whose frames are decoded one after the other.

    Behind a cut, once the colours are those of the next keyframe, the rest is taken for one shot,
    as GOPs are whose keyframes look alike.
    """
    pixels = looks.at(np.array([gop.start]))  # a call of its own: the next ones go on from it
    cuts: list[int] = []
    end, last = gop.start + 1, min(gop.stop + _AROUND, len(looks.video))
    while end < last:
        begin, end = end, min(end + _CHUNK, last)
        pixels = np.concatenate([pixels, looks.at(np.arange(begin, end))])
        pixels = pixels[-_CHUNK - 2 * _AROUND :]
        known = end if end == len(looks.video) else end - _AROUND + 1
        found = _cuts_in(np.arange(end - len(pixels), end), pixels)
        cuts += [cut for cut in found if max(begin - _AROUND, gop.start) < cut < known]
        if cuts and len(gop.pixels) == 2:
            behind = np.stack([pixels[-_AROUND], gop.pixels[1]])
            if _recolored(behind)[0] < _RECOLORED / 2:
                break
    sure = range(gop.start + _AROUND if gop.start else 0, gop.stop + 1)
    return _checked(looks, {cut for cut in cuts if cut <= gop.stop}, sure)


def _checked(looks: _Looks, cuts: set[int], sure: range) -> list[int]:
    """The confirmed cuts; cuts outside `sure` are decoded again with the frames around them."""
    return [cut for cut in sorted(cuts) if cut in sure or cut in _cuts_at(looks, cut)]


def _cuts_at(looks: _Looks, frame: int) -> list[int]:
    """Cuts around a frame; whether it is one itself is sure."""
    frames = np.arange(max(frame - _AROUND, 0), min(frame + _AROUND, len(looks.video)))
    return _cuts_in(frames, looks.at(frames))


def _cuts_in(frames: NDArray[np.int64], pixels: NDArray[np.uint8]) -> list[int]:
    """First frames of shots. Only frames that follow each other without a gap are compared.

    A cut stands out from the differences beside it, as in PySceneDetect's AdaptiveDetector, and
    the picture does not come back within two frames, as after a flash.
    """
    steps = _differences(pixels)
    steps[np.diff(frames) != 1] = 0
    cuts = []
    for place in np.flatnonzero(steps >= _CHANGED).tolist():
        beside = np.concatenate([steps[max(place - 2, 0) : place], steps[place + 1 : place + 3]])
        if len(beside) and steps[place] < _STANDS_OUT * beside.mean():
            continue
        earlier = int(np.searchsorted(frames, frames[place] - 2))
        later = int(np.searchsorted(frames, frames[place] + 3, side="right")) - 1
        across = _differences(pixels[[place, later, earlier, place + 1]])[::2]
        if across.min() >= steps[place] / 2:
            cuts.append(int(frames[place + 1]))
    return cuts


def _differences(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Mean absolute difference of each picture from the one before it."""
    levels = pixels.astype(np.int16)
    means: NDArray[np.float64] = np.abs(levels[1:] - levels[:-1]).mean(axis=(1, 2, 3))
    return means


def _recolored(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Share of pixels whose colours are not in the picture before, whatever has moved; 0 to 1."""
    codes = (pixels // 43).astype(np.int64) @ [36, 6, 1]  # six levels of each channel
    counts = np.array([np.bincount(each.ravel(), minlength=216) for each in codes])
    shares = counts / codes[0].size
    changed: NDArray[np.float64] = np.abs(shares[1:] - shares[:-1]).sum(axis=1) / 2
    return changed
