"""Views of values for people: facts, timelines and sheets of frames.

All text is escaped, so names of files that hold HTML are shown as they are.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GAP = 4
_HEIGHT = 96  # of a thumbnail in a contact sheet, in pixels
_CAPTION = 18
_BARS = 600  # of a timeline, at most
_TIMELINE = (600, 90)  # width, height
_WAVE = 40  # height
_CLIPS, _FRAMES = 8, 8  # of a view, at most


def facts_table(facts: Iterable[tuple[str, object]]) -> str:
    """Names and values as an HTML table, without values that are None or empty."""
    rows = [
        f"<tr><td>{escape(name)}</td><td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in facts
        if value not in (None, "")
    ]
    return f"<table>{''.join(rows)}</table>"


def rows_table(names: Sequence[str], rows: Iterable[Mapping[str, object]], title: str) -> str:
    """Some columns of rows as an HTML table; a value of None is an empty cell."""
    cells = [["" if row[name] is None else str(row[name]) for name in names] for row in rows]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in cells
    )
    return f"<p>{escape(title)}</p><table><tr>{head}</tr>{body}</table>"


def timeline_svg(sizes: NDArray[np.integer[Any]], keyframes: NDArray[np.integer[Any]]) -> str:
    """The sizes of a video's frames in presentation order as bars, red for keyframes.

    A bar of several frames shows the largest. Heights are square roots, so that small frames are
    seen beside keyframes.

    Args:
        sizes: coded bytes of each frame.
        keyframes: numbers of the frames that are keyframes, ascending.
    """
    width, height = _TIMELINE
    count = min(len(sizes), _BARS)
    if not count:
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"></svg>'
    edges = np.arange(count + 1) * len(sizes) // count
    largest = np.maximum.reduceat(sizes.astype(np.int64), edges[:-1])
    heights = (height - 2) * np.sqrt(largest / max(int(largest.max()), 1))
    is_key = np.diff(np.searchsorted(keyframes, edges)) > 0
    step = width / count
    bar = f"h{max(step * 0.9, 0.6):.2f}V{height}z"
    paths = []
    for color, chosen in (("#4c78a8", ~is_key), ("#d1495b", is_key)):
        bars = "".join(
            f"M{place * step:.5g} {height}v-{heights[place]:.0f}{bar}"
            for place in np.flatnonzero(chosen).tolist()
        )
        paths.append(f'<path fill="{color}" d="{bars}"/>' if bars else "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'style="max-width:{width}px">{"".join(paths)}</svg>'
    )


def wave_svg(peaks: NDArray[np.floating[Any]]) -> str:
    """The peaks of a sound as bars around a line, as wide as a timeline.

    Args:
        peaks: largest absolute values of equal spans of time, 0 to 1.
    """
    width, step = _TIMELINE[0], _TIMELINE[0] / len(peaks)
    bars = "".join(
        f"M{place * step:.5g} {(_WAVE - tall) / 2:.5g}v{tall:.5g}h{step:.5g}v-{tall:.5g}z"
        for place, tall in enumerate((peaks * _WAVE).clip(1, _WAVE).tolist())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_WAVE}" '
        f'style="max-width:{width}px"><path fill="#4c78a8" d="{bars}"/></svg>'
    )


def contact_sheet(rows: Sequence[tuple[str, Sequence[NDArray[Any]]]]) -> NDArray[np.uint8]:
    """One picture with a row of thumbnails for each caption and frames, uint8 RGB (H, W, 3)."""
    import cv2

    strips = []
    for caption, frames in rows:
        thumbnails = []
        for frame in frames:
            width = max(round(frame.shape[1] * _HEIGHT / frame.shape[0]), 1)
            small = cv2.resize(frame, (width, _HEIGHT), interpolation=cv2.INTER_AREA)
            thumbnails.append(np.pad(small, ((0, 0), (0, _GAP), (0, 0))))
        strip = np.concatenate(thumbnails, axis=1) if thumbnails else np.zeros((_HEIGHT, 1, 3))
        strip = np.pad(strip.astype(np.uint8), ((_CAPTION, _GAP), (_GAP, 0), (0, 0)))
        place = (_GAP, _CAPTION - 5)
        cv2.putText(
            strip, caption, place, cv2.FONT_HERSHEY_SIMPLEX, 0.4, (230,) * 3, 1, cv2.LINE_AA
        )
        strips.append(strip)
    width = max(strip.shape[1] for strip in strips)
    return np.concatenate(
        [np.pad(strip, ((0, 0), (0, width - strip.shape[1]), (0, 0))) for strip in strips]
    )


def frames_view(clips: Sequence[NDArray[Any]], captions: Sequence[str] = ()) -> str:
    """Clips as an HTML image, one a row: at most 8 clips, and 8 frames of each, evenly spaced.

    Args:
        clips: each (F, H, W, C), (F, C, H, W) or (C, F, H, W) with 1 to 4 channels; the shape tells
            which. uint8, or numbers of which the least becomes black and the largest white. What
            cannot be a picture is left out.
        captions: of the clips.
    """
    rows = []
    for number, clip in enumerate(clips[:_CLIPS]):
        frames = _channels_last(clip)
        if frames is None or not frames.size:
            continue
        chosen = np.linspace(0, len(frames) - 1, min(len(frames), _FRAMES)).round().astype(int)
        caption = captions[number] if captions else ""
        rows.append((caption, [np.ascontiguousarray(each) for each in _as_rgb(frames[chosen])]))
    if not rows:
        return ""
    more = f"<br>and {len(clips) - _CLIPS} more" if len(clips) > _CLIPS else ""
    return f'<img src="{jpeg_uri(contact_sheet(rows))}" alt="frames">{more}'


def _channels_last(clip: NDArray[Any]) -> NDArray[Any] | None:
    if clip.ndim == 3:
        clip = clip[None]
    if clip.ndim != 4:
        return None
    for axis in (3, 1, 0):
        if 1 <= clip.shape[axis] <= 4 and min(np.delete(clip.shape, axis)[-2:]) > 4:
            return np.moveaxis(clip, axis, 3)
    return None


def _as_rgb(frames: NDArray[Any]) -> NDArray[np.uint8]:
    if frames.dtype != np.uint8:
        values = np.nan_to_num(frames.astype(np.float32))
        least, most = float(values.min()), float(values.max())
        frames = ((values - least) * (255 / max(most - least, 1e-9))).astype(np.uint8)
    channels = [0, 1, 2] if frames.shape[3] >= 3 else [0, 0, 0]
    rgb: NDArray[np.uint8] = frames[..., channels]
    return rgb


def jpeg_uri(picture: NDArray[np.uint8]) -> str:
    """An RGB picture (H, W, 3) as the address of a JPEG that holds its bytes."""
    import cv2

    bgr = np.ascontiguousarray(picture[:, :, ::-1])
    done, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, 75])
    assert done
    return image_uri(data.tobytes(), "jpeg")


def image_uri(data: bytes, kind: str) -> str:
    """The address of an image that holds its bytes; `kind` is jpeg, png or svg+xml."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
