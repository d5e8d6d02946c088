"""Scenes, duplicates and scores: how right and how fast, beside PySceneDetect and imagehash.

    python benchmarks/curation.py                    both parts; minutes
    python benchmarks/curation.py scenes --save      one, and keep its figures

*scenes*: videos of shots with known hard cuts, drawn and encoded into `benchmarks/data/curation` in
five codecs, with keyframes at cuts, at regular places and hardly anywhere, with grain and without.
A cut counts as found within a tolerance in frames, and once. Times are processor time of one
process, libraries imported.

*duplicates*: copies of 24 videos, encoded anew, resized, cropped by 5 %, with half the frames, or
in another container. Precision and recall of pairs; beside `imagehash` on the same frames, and
`videohash` where it and the command `ffmpeg` are there.

Peers: pip install scenedetect imagehash videohash. PySceneDetect reads with OpenCV, AV1 with PyAV,
as OpenCV's wheels do not decode it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import av
import numpy as np
from footage import DATA
from machine import RESULTS, machine, today
from numpy.typing import NDArray

import videoloader as vl
from videoloader.datasets import hash_video, picture_hash
from videoloader.datasets.duplicates import near_pairs
from videoloader.demo.shots import draw_shot, encode_pictures, encode_shots

FOLDER = DATA / "curation"
PACKAGES: tuple[str, ...] = ("videoloader", "scenedetect", "imagehash", "videohash", "av", "numpy")
PACKAGES += ("opencv-python-headless",)
TOLERANCES = (0, 12)  # frames; 12 are half a second

X265 = "log-level=none:pools=none:frame-threads=1"
CODED = {
    "libx264": ("mp4", {"preset": "veryfast", "threads": "1"}),
    "libx265": ("mp4", {"preset": "superfast", "x265-params": X265}),
    "libsvtav1": ("mp4", {"preset": "10", "crf": "35", "svtav1-params": "lp=1"}),
    "libvpx-vp9": ("webm", {"deadline": "good", "cpu-used": "6", "threads": "1", "b": "900k"}),
    "mpeg4": ("mp4", {"b": "2M"}),
}
NO_CUTS = "1000000000"  # FFmpeg's `sc_threshold` that places no keyframe at a cut
GOPS: dict[str, dict[str, dict[str, str]]] = {
    "libx264": {
        "default": {},
        "48": {"g": "48", "sc_threshold": "0"},
        "12": {"g": "12", "sc_threshold": "0"},
        "one": {"x264-params": "keyint=infinite:scenecut=0"},
    },
    "libx265": {
        "default": {},
        "48": {"x265-params": f"{X265}:keyint=48:min-keyint=48:scenecut=0"},
        "12": {"x265-params": f"{X265}:keyint=12:min-keyint=12:scenecut=0"},
    },
    "libsvtav1": {"default": {}, "48": {"g": "48"}},
    "libvpx-vp9": {
        "default": {},
        "48": {"g": "48", "keyint_min": "48"},
        "realtime": {"deadline": "realtime", "cpu-used": "8"},
    },
    "mpeg4": {
        "default": {},
        "48": {"g": "48", "sc_threshold": NO_CUTS},
        "B-frames": {"bf": "2", "g": "60", "sc_threshold": NO_CUTS},
    },
}


def _shots(number: int) -> list[int]:
    """Lengths of the shots of a video: 0.8 to 8 seconds."""
    return [int(n) for n in np.random.default_rng(900 + number).integers(20, 200, 12)]


def _make_shots(number: int, codec: str, gop: str) -> Path:
    suffix, options = CODED[codec]
    path = FOLDER / "shots" / f"{codec}-{gop}.{suffix}"
    if not path.exists():
        partial = path.with_name(f"partial-{path.name}")
        more = {**options, **GOPS[codec][gop]}
        grain = (0.0, 0.0, 6.0)[number % 3]
        encode_shots(
            partial,
            _shots(number),
            seed=77 + number,
            size=(640, 360),
            codec=codec,
            options=more,
            grain=grain,
        )
        partial.rename(path)
    return path


def _peer(detector: str) -> Callable[[Path], list[int]]:
    """Cuts by a detector of PySceneDetect."""
    import scenedetect

    def find(path: Path) -> list[int]:
        backend = "pyav" if "av1" in path.name else "opencv"
        video = scenedetect.open_video(str(path), backend=backend)
        manager = scenedetect.SceneManager()
        manager.add_detector(getattr(scenedetect, detector)())
        manager.detect_scenes(video)
        return [begin.frame_num for begin, _ in manager.get_scene_list()][1:]

    return find


def _hits(found: list[int], cuts: list[int], tolerance: int) -> NDArray[np.int64]:
    """Cuts that are found, places that are none, and cuts that are not found."""
    left = list(cuts)
    for frame in found:
        near = [cut for cut in left if abs(cut - frame) <= tolerance]
        if near:
            left.remove(min(near, key=lambda cut: abs(cut - frame)))
    hits = len(cuts) - len(left)
    return np.array([hits, len(found) - hits, len(left)])


def _f1(counts: NDArray[np.int64]) -> float:
    hits, wrong, missed = map(int, counts)
    return round(2 * hits / max(2 * hits + wrong + missed, 1), 4)


def measure_scenes() -> dict[str, Any]:
    """F1 and processor time of each way, by codec and over all."""
    kinds = [(codec, gop) for codec, gops in GOPS.items() for gop in gops]
    (FOLDER / "shots").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor() as pool:
        numbers = range(len(kinds))
        paths = list(pool.map(_make_shots, numbers, *zip(*kinds, strict=True)))
    ways: dict[str, Callable[[Path], list[int]]] = {
        "find_scenes": lambda path: [each.start for each in vl.find_scenes(path)][1:],
        "find_scenes, exact": lambda path: [
            each.start for each in vl.find_scenes(path, exact=True)
        ][1:],
        "ContentDetector": _peer("ContentDetector"),
        "AdaptiveDetector": _peer("AdaptiveDetector"),
    }
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    counts: dict[tuple[str, str, int], NDArray[np.int64]] = defaultdict(
        lambda: np.zeros(3, np.int64)
    )
    for way in ways.values():
        way(paths[0])  # imports
    for number, ((codec, gop), path) in enumerate(zip(kinds, paths, strict=True)):
        cuts = np.cumsum(_shots(number))[:-1].tolist()
        for name, way in ways.items():
            begin = time.process_time()
            found = way(path)
            used = time.process_time() - begin
            for group in ("all", codec, f"{codec} {gop}"):
                seconds[name, group] += used
                for tolerance in TOLERANCES:
                    counts[name, group, tolerance] += _hits(found, cuts, tolerance)
    groups = dict.fromkeys(group for _, group in seconds)
    return {
        group: {
            name: {
                "seconds": round(seconds[name, group], 3),
                **{f"f1_within_{t}": _f1(counts[name, group, t]) for t in TOLERANCES},
            }
            for name in ways
        }
        for group in groups
    }


def _make_copies(number: int) -> None:
    """Seven copies of a video, each in another way."""
    folder, size = FOLDER / "copies", (320, 180)
    if (folder / f"{number:02}-remuxed.mkv").exists():
        return
    shots = (draw_shot(25, seed=40_000 + 10 * number + n, size=size) for n in range(2))
    pictures = list(itertools.chain(*shots))
    first = encode_pictures(folder / f"{number:02}-first.mp4", pictures, size=size)
    low = {"crf": "35", "g": "12", "threads": "1"}
    encode_pictures(folder / f"{number:02}-low.mp4", pictures, size=size, options=low)
    for name, codec, small in (
        ("vp9", "libvpx-vp9", size),
        ("small", "libx265", (160, 90)),
        ("mpeg4", "mpeg4", size),
    ):
        suffix, options = CODED[codec]
        path = folder / f"{number:02}-{name}.{suffix}"
        encode_pictures(path, pictures, size=small, codec=codec, options=options)
    cropped = [picture[5:-5, 8:-8] for picture in pictures]
    encode_pictures(folder / f"{number:02}-cropped.mp4", cropped, size=size)
    encode_pictures(folder / f"{number:02}-half.mp4", pictures[::2], size=size, fps=12)
    target = folder / f"{number:02}-remuxed.mkv"
    with av.open(str(first)) as given, av.open(str(target), "w") as made:
        stream = made.add_stream_from_template(given.streams.video[0])
        for packet in given.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                made.mux(packet)


def _quality(pairs: Iterator[tuple[int, int]], names: list[str]) -> dict[str, float]:
    """Precision and recall of pairs."""
    found = list(pairs)
    right = sum(names[one] == names[other] for one, other in found)
    copies = sum(a == b for a, b in itertools.combinations(names, 2))
    return {"precision": round(right / max(len(found), 1), 4), "recall": round(right / copies, 4)}


def measure_duplicates() -> dict[str, Any]:
    """Precision, recall and time of near copies, beside other hashes."""
    (FOLDER / "copies").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor() as pool:
        list(pool.map(_make_copies, range(24)))
    files = sorted((FOLDER / "copies").iterdir())
    names = [path.name[:2] for path in files]
    figures: dict[str, Any] = {"files": len(files)}
    begin = time.process_time()
    hashes = {number: hash_video(path).hashes for number, path in enumerate(files)}
    pairs = [(one, other) for one, other, _ in near_pairs(hashes, 10.0)]
    used = time.process_time() - begin
    figures["videoloader"] = {"seconds": round(used, 2), **_quality(iter(pairs), names)}
    figures["one picture, 1 us"] = _hash_microseconds()
    try:
        figures["videohash"] = _videohash(files, names)
    except Exception as error:  # noqa: BLE001  (it depends on much that may be missing)
        figures["videohash"] = f"does not run here: {type(error).__name__}: {error}"
    for count in (10_000, 100_000):
        rng = np.random.default_rng(0)
        made = rng.integers(0, 1 << 64, (count, 6), dtype=np.uint64)
        made[-count // 100 :] = made[: count // 100] ^ np.uint64(0b10010001)
        begin = time.process_time()
        found = sum(1 for _ in near_pairs(dict(enumerate(made)), 10.0))
        figures[f"pairs of {count} videos"] = {
            "found": found,
            "seconds": round(time.process_time() - begin, 2),
        }
    return figures


def _hash_microseconds() -> dict[str, float]:
    """Time of the hash of one picture of 32 x 32 pixels, ours and that of imagehash."""
    import imagehash
    from PIL import Image

    pictures = np.random.default_rng(0).integers(0, 256, (500, 32, 32), dtype=np.uint8)
    begin = time.process_time()
    ours = picture_hash(pictures)
    middle = time.process_time()
    theirs = [str(imagehash.phash(Image.fromarray(each))) for each in pictures]
    end = time.process_time()
    assert [f"{each:016x}" for each in ours] == theirs
    return {
        "videoloader": round(1e6 * (middle - begin) / len(pictures), 1),
        "imagehash": round(1e6 * (end - middle) / len(pictures), 1),
    }


def _videohash(files: list[Path], names: list[str]) -> dict[str, Any]:
    """Pairs of videos whose 64-bit hashes by `videohash` differ in at most 10 bits."""
    from PIL import Image

    if not hasattr(Image, "ANTIALIAS"):  # of Pillow before version 10
        Image.ANTIALIAS = Image.Resampling.LANCZOS  # type: ignore[attr-defined]
    from videohash import VideoHash

    begin = time.perf_counter()
    made = [int(VideoHash(path=str(path)).hash_hex, 16) for path in files]
    used = time.perf_counter() - begin
    near = (
        (one, other)
        for one, other in itertools.combinations(range(len(made)), 2)
        if (made[one] ^ made[other]).bit_count() <= 10
    )
    return {"wall_seconds": round(used, 1), **_quality(near, names)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("scenes", "duplicates")
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help="all by default")
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    run: dict[str, Callable[[], dict[str, Any]]] = {
        "scenes": measure_scenes,
        "duplicates": measure_duplicates,
    }
    target = RESULTS / f"curation-{today()}.json"
    kept = json.loads(target.read_text()) if arguments.save and target.exists() else {}
    kept["machine"] = machine(PACKAGES)
    for part in arguments.parts or parts:
        kept[part] = run[part]()
        print(json.dumps({part: kept[part]}, indent=1))
    if arguments.save:
        target.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
