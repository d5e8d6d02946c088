"""`find_duplicates`: groups of videos that are copies, or nearly so."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.datasets.hashes import differing_bits, hash_video, packet_digest
from videoloader.datasets.job_videos import videos_of
from videoloader.datasets.mapping import map_clips
from videoloader.indexing.dataset import Item, Videos
from videoloader.indexing.dataset.part import table_path
from videoloader.indexing.dataset.video_job import Progress
from videoloader.machinery.system.checks import real_number
from videoloader.machinery.system.writing import written_whole
from videoloader.training.sources import ClipSources
from videoloader.video import Video

if TYPE_CHECKING:
    import pyarrow as pa

_BANDS, _BAND_BITS = 4, 16
_PICTURES = 6  # of a video that are hashed
_REACH = 7  # bits of two pictures: of four bands one then differs in at most one bit
_COMMON = 50  # videos that may share a picture; more have an intro in common, or a logo
AT_ONCE = 1 << 22  # pairs of pictures compared at once


class _Pair(NamedTuple):
    """Two videos, by number, and their distance."""

    one: int
    other: int
    distance: float


def find_duplicates(
    source: ClipSources,
    out: str | os.PathLike[str],
    *,
    distance: float | None = 10.0,
    device: str = "cpu",
    workers: int | None = None,
    time_limit: float = 3600.0,
    ray: bool | str = False,
    progress: Progress | None = None,
) -> pa.Table:
    """Find groups of videos that are copies, or nearly so, and write them.

    *Copies* have the same packets. Those whose packets have the same sizes, which the index knows,
    are read to compare digests of their packets; so copies in another container, with other
    metadata or names are found, and most files are never read.

    *Near copies*, such as re-encoded, resized or slightly cropped ones, have similar pictures. The
    distance of two videos is the mean, over the hashed pictures of both, of the bits by which
    `picture_hash` differs from that of the most similar picture of the other: 0 to 64, about 25
    for unrelated videos. Pairs are looked for among videos of which two pictures differ by at most
    7 bits, and groups are what pairs connect.

    A resumable job, see `map_clips`: files beside `out`, whose names begin with its own, keep what
    is done until it is written.

    Args:
        source: as for `map_clips`.
        out: Parquet file to write: a row for each video that is in a group, with `row` and `key`
            as of `map_clips`, `group` (a number), `is_representative`, `kind` (`copy` of the
            representative, `near` it, or `representative`), and `distance` to it; then a row for
            each video that could not be read, without a group, with its `error`. Groups are in the
            order of their first videos. The representative is the video with the most pixels, then
            frames, then bytes, then the first.
        distance: the largest of near copies; None to look for copies only, which decodes nothing.
        device: that decodes.
        workers: processes, see `map_clips`.
        time_limit: seconds that one video may take in a worker.
        ray: work on a Ray cluster, see `index_dataset`.
        progress: is told how far each of the two jobs is.

    Returns:
        The table that was written.

    >>> table = find_duplicates("set.parquet", "copies.parquet", distance=None)
    >>> table["key"].to_pylist()[:2], table["group"].to_pylist(), table["kind"].to_pylist()[:2]
    (['jump/0.mp4', 'jump/1.mp4'], [0, 0, 0, 0], ['representative', 'copy'])
    """
    import pyarrow.parquet as pq

    if distance is not None:
        real_number("distance", distance, most=63)
    target = table_path(out)
    videos = videos_of(source)
    options: dict[str, Any] = {
        "device": device,
        "workers": workers,
        "time_limit": time_limit,
        "ray": ray,
        "progress": progress,
    }
    parts, others = _hash_files(target)
    described: list[dict[str, Any]] = []
    for number in range(len(parts)):
        shard = number, len(parts)
        hashed = hash_videos(videos, target, distance=distance, shard=shard, **options)
        described += hashed.to_pylist()
    digests = target.with_name(f"{target.name}.digests.parquet")
    copies, unread = _copies(videos, described, digests, options)
    errors = {n: row["error"] for n, row in enumerate(described) if row["error"]} | unread
    near: list[_Pair] = []
    if distance is not None:
        later = {number for group in copies for number in group[1:]}
        hashes = {
            number: np.array(each["hashes"], np.uint64)
            for number, each in enumerate(described)
            if each.get("hashes") and number not in later
        }
        near = [_Pair(*pair) for pair in near_pairs(hashes, distance)]
    table = _table(described, copies, near, errors)
    with written_whole(target) as partial_file:
        pq.write_table(table, partial_file, compression="zstd")
    for left in (*parts, *others, digests):
        left.unlink(missing_ok=True)
    return table


def hash_videos(
    source: ClipSources,
    out: str | os.PathLike[str],
    *,
    distance: float | None = 10.0,
    shard: tuple[int, int],
    **options: Any,
) -> pa.Table:
    """Hash a part of the videos for a later `find_duplicates`, which has all of them to compare.

    The hashes are in a file beside `out`, named by the part. `find_duplicates` with the same `out`
    uses these files, hashes what they lack or what has changed, and deletes them.

    Args:
        source: as for `find_duplicates`; all videos.
        out: file that `find_duplicates` will write.
        distance: as for `find_duplicates`; None where it will look for copies only.
        shard: (i, n) takes the i-th of n parts of the videos, for n machines.
        **options: `device`, `workers`, `time_limit`, `ray` and `progress` of `find_duplicates`.

    >>> for part in (0, 1):  # each on its own machine
    ...     _ = hash_videos("set.parquet", "copies.parquet", distance=None, shard=(part, 2))
    >>> len(find_duplicates("set.parquet", "copies.parquet", distance=None))
    4
    """
    function = partial(_describe, count=0 if distance is None else _PICTURES)
    path = _hash_file(table_path(out), *shard)
    return map_clips(videos_of(source), function, path, keep=True, shard=shard, **options)


def _hash_file(target: Path, part: int, count: int) -> Path:
    return target.with_name(f"{target.name}.hashes.{part}of{count}.parquet")


def _hash_files(target: Path) -> tuple[list[Path], list[Path]]:
    """Files of hashes, and the files of other divisions of the videos.

    They are of as many parts as most of the videos are hashed in, or one.
    """
    named = re.compile(re.escape(f"{target.name}.hashes.") + r"\d+of(\d+)\.parquet(\.journal)?")
    found = {path: named.fullmatch(path.name) for path in target.parent.glob("*.hashes.*")}
    counts = {path: int(each[1]) for path, each in found.items() if each}
    done = Counter(count for path, count in counts.items() if path.suffix != ".journal")
    count = max(counts.values(), key=lambda each: (done[each] / each, each), default=1)
    parts = [_hash_file(target, part, count) for part in range(count)]
    return parts, [path for path in counts if counts[path] != count]


def _describe(video: Video, *, count: int) -> dict[str, Any]:
    """Hashes of a video, and the numbers by which it is preferred to its copies."""
    index = video.index
    return hash_video(video, count=count)._asdict() | {
        "quality": [
            index.width * index.height,
            index.num_frames,
            int(index.packets["size"].sum(dtype=np.int64)),
        ]
    }


def _copies(
    videos: Videos | list[Item], described: list[dict[str, Any]], out: Path, options: dict[str, Any]
) -> tuple[list[list[int]], dict[int, str]]:
    """Groups of videos with the same packets, and errors, by number.

    Only videos with the same sizes of packets are read.
    """
    alike = _groups_by((each.get("packets"), number) for number, each in enumerate(described))
    chosen = sorted(number for group in alike for number in group)
    if not chosen:
        return [], {}
    if isinstance(videos, Videos):
        part: ClipSources = Videos(videos.dataset, videos.rows[chosen])
    else:
        part = [videos[number] for number in chosen]
    digests = map_clips(part, packet_digest, out, keep=True, **options).to_pylist()
    found = dict(zip(chosen, digests, strict=True))
    copies = _groups_by(
        (not row["error"] and (described[number]["packets"], row["digest"]), number)
        for number, row in found.items()
    )
    return copies, {number: row["error"] for number, row in found.items() if row["error"]}


def _groups_by(members: Iterable[tuple[Any, int]]) -> list[list[int]]:
    """Groups of at least two numbers with the same key; numbers without a key are in none."""
    groups = defaultdict(list)
    for key, number in members:
        if key:
            groups[key].append(number)
    return [group for group in groups.values() if len(group) > 1]


def near_pairs(
    hashes: Mapping[int, NDArray[np.uint64]], distance: float
) -> Iterator[tuple[int, int, float]]:
    """Pairs of videos with at most a distance, and their distances, without comparing all pairs.

    A pair is found if two of its pictures differ by at most 7 bits. Then one of four bands of 16
    bits differs in at most one bit; pictures are sorted by each band, and looked up by its value
    and the 16 values next to it. Pictures that more than 50 videos share are not looked up.

    Args:
        hashes: by number, of the pictures of each video.
        distance: the largest.
    """
    if not hashes:
        return
    owners = np.repeat(list(hashes), [len(each) for each in hashes.values()])
    values = np.concatenate([*hashes.values()])
    rare = _are_rare(values, owners)
    values, owners = values[rare], owners[rare]
    found: set[tuple[int, int]] = set()
    for band in range(_BANDS):
        for one, other in _pictures_alike(values, band):
            a, b = owners[one], owners[other]
            pairs = np.stack([np.minimum(a, b), np.maximum(a, b)], axis=1)[a != b]
            found.update(map(tuple, np.unique(pairs, axis=0).tolist()))
    for first, second in sorted(found):
        between = _video_distance(hashes[first], hashes[second])
        if between <= distance:
            yield first, second, between


def _are_rare(values: NDArray[np.uint64], owners: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mask of the pictures that few videos share."""
    pairs = np.unique(np.stack([values.astype(np.uint64), owners.astype(np.uint64)]), axis=1)
    shared, counts = np.unique(pairs[0], return_counts=True)
    rare: NDArray[np.bool_] = counts[np.searchsorted(shared, values)] <= _COMMON
    return rare


def _pictures_alike(
    values: NDArray[np.uint64], band: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of near hashes; in each pair, this band differs in at most one bit."""
    keys = ((values >> np.uint64(band * _BAND_BITS)) & np.uint64(0xFFFF)).astype(np.int64)
    order = np.argsort(keys, kind="stable")
    values, keys = values[order], keys[order]
    for flipped in (0, *(1 << bit for bit in range(_BAND_BITS))):
        wanted = keys ^ flipped
        first = np.searchsorted(keys, wanted, side="left")
        counts = np.searchsorted(keys, wanted, side="right") - first
        ends = np.cumsum(counts)
        start = 0
        while start < len(values):
            done = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, done + AT_ONCE)), start + 1)
            sizes = counts[start:stop]
            one = np.repeat(np.arange(start, stop), sizes)
            begins = np.cumsum(sizes) - sizes
            other = np.arange(len(one)) - np.repeat(begins - first[start:stop], sizes)
            near = (one < other) & (differing_bits(values[one], values[other]) <= _REACH)
            yield order[one[near]], order[other[near]]
            start = stop


def _video_distance(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    """The distance of two videos by the hashes of their pictures, see `find_duplicates`.

    >>> _video_distance(np.array([1, 2], np.uint64), np.array([1, 3], np.uint64))
    0.5
    """
    bits = differing_bits(one[:, None], other[None])
    return float(np.concatenate([bits.min(axis=0), bits.min(axis=1)]).mean())


def _table(
    described: list[dict[str, Any]],
    copies: list[list[int]],
    near: list[_Pair],
    errors: Mapping[int, str],
) -> pa.Table:
    """The groups of copies and near copies, and the videos that could not be read."""
    import pyarrow as pa

    edges = [(group[0], number) for group in copies for number in group[1:]]
    parent = list(range(len(described)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for one, other in [*edges, *((pair.one, pair.other) for pair in near)]:
        first, second = sorted((root(one), root(other)))
        parent[second] = first
    alike = {number: group[0] for group in copies for number in group}
    rows: list[dict[str, Any]] = []
    for number, group in enumerate(_groups_by((root(n) + 1, n) for n in range(len(parent)))):
        best = max(group, key=lambda each: (*described[each]["quality"], -each))
        for member in group:
            is_copy = alike.get(member, member) == alike.get(best, best)
            kind = "copy" if is_copy else "near"
            rows.append(
                {
                    **{name: described[member][name] for name in ("row", "key")},
                    "group": number,
                    "is_representative": member == best,
                    "kind": "representative" if member == best else kind,
                    "distance": 0.0 if is_copy else _distance(described, best, member),
                }
            )
    grouped = {row["row"] for row in rows}
    for number in sorted(errors):
        place = {name: described[number][name] for name in ("row", "key")}
        if place["row"] not in grouped:
            rows.append(place | {"error": errors[number]})
    fields = [("row", pa.int64()), ("key", pa.string()), ("group", pa.int64())]
    fields += [("is_representative", pa.bool_()), ("kind", pa.string())]
    fields += [("distance", pa.float64()), ("error", pa.string())]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def _distance(described: list[dict[str, Any]], one: int, other: int) -> float:
    hashes = [np.array(described[number]["hashes"], np.uint64) for number in (one, other)]
    return _video_distance(*hashes)
