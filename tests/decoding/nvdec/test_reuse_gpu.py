"""A GPU's decoders, given streams in turn that ask for different numbers of pictures."""

import random

import pytest
import torch
from corpus_files import corpus_files

import videoloader as vl
from videoloader.decoding.nvdec.hardware import stream_needs
from videoloader.demo.videos import encode_video, read_frame_number

pytestmark = pytest.mark.gpu

STREAMS = {
    "few": ((1920, 1080), "bframes=0:ref=1"),
    "usual": ((1920, 1080), "bframes=3:ref=3"),
    "many": ((1920, 1080), "bframes=8:ref=8:b-pyramid=normal:b-adapt=0"),
    "level 5.1": ((1920, 1080), "bframes=0:ref=1:level=51"),
    "narrow, few": ((1856, 1040), "bframes=0:ref=1"),
    "narrow, many": ((1856, 1040), "bframes=8:ref=8:b-pyramid=normal:b-adapt=0"),
}
FRAMES = 48
REAL = corpus_files(lambda file: file.path.name == "vali__pts_test_video.mkv")
OTHERS = [
    "androidx-media__long_1080p_videoonly_lowbitrate.mp4",
    "androidx-media__sample_fragmented_seekable_multiple_sidx.mp4",
    "shaka-player__captions-test.ts",
]


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    return {
        name: encode_video(
            folder / f"{name}.mp4",
            size=size,
            frames=FRAMES,
            options={
                "preset": "ultrafast",
                "x264-params": f"threads=1:keyint=1000:scenecut=0:{params}",  # one run a file,
            },
        )
        for name, (size, params) in STREAMS.items()
    }


def alone(path, frames):
    """Frames from a decoder that had no other stream before."""
    with vl.BatchDecoder("cuda", workers=1) as decoder:
        found = decoder.decode([(path, frames)]).frames[0].cpu()
        assert not decoder.stats()["routed"], f"{path.name}, from a fresh decoder"
    return found


def decode_in_turn(paths, turns, frames):
    """Decode by one decoder; what went wrong, in words."""
    expected = {name: alone(path, frames[name]) for name, path in paths.items()}
    needs = {name: stream_needs(vl.index_video(path), 0) for name, path in paths.items()}
    wrong, before = [], {}
    with vl.BatchDecoder("cuda", workers=1) as decoder:
        for step, name in enumerate(turns):
            batch = decoder.decode([(paths[name], frames[name])])
            pairs = zip(frames[name], batch.frames[0].cpu(), expected[name], strict=True)
            other = [number for number, one, its in pairs if not torch.equal(one, its)]
            stats = decoder.stats()
            routed = {k: n for k, n in stats["routed"].items() if n != before.get(k)}
            before = stats["routed"]
            if other or routed:
                wrong.append(
                    f"step {step}: {name} after {turns[:step][-1:]}, wrong frames {other}, "
                    f"given to the CPU: {routed}"
                )
    report = "\n".join(
        [
            *wrong,
            f"turns: {turns}",
            *(f"{name} asks for {need}" for name, need in needs.items()),
            f"stats: {stats['gpu']}",
        ]
    )
    return wrong, stats["gpu"]["decoders"], report


def test_streams_of_few_and_of_many_references_in_turn(streams):
    chosen = {name: streams[name] for name in ("few", "many")}
    turns = ["few", "many"] * 6
    frames = {name: list(range(FRAMES)) for name in chosen}
    wrong, decoders, report = decode_in_turn(chosen, turns, frames)
    assert not wrong, report
    assert decoders == 2, report  # that of the second takes both from then on


def test_streams_of_two_sizes_in_any_order(streams):
    turns = random.Random(3).choices(list(streams), k=60)
    frames = {name: [0, 20, FRAMES - 1, 30, 5] for name in streams}
    wrong, decoders, report = decode_in_turn(streams, turns, frames)
    assert not wrong, report
    assert decoders <= 8, report


def test_all_streams_in_one_batch(streams):
    requests = [(path, [number, 40]) for path in streams.values() for number in range(0, 40, 5)]
    random.Random(4).shuffle(requests)
    with vl.BatchDecoder("cuda", workers=1) as decoder:
        for _ in range(3):
            for clip, (_, frames) in zip(decoder.decode(requests).clips, requests, strict=True):
                assert [read_frame_number(one.cpu().numpy()) for one in clip.frames] == frames
        assert not decoder.stats()["routed"], decoder.stats()


@pytest.mark.parametrize("file", REAL)
def test_a_real_stream_of_many_references_after_others_of_its_size(file):
    paths = {"many": file.path}
    for name in OTHERS:
        if (file.path.parent / name).is_file():
            paths[name] = file.path.parent / name
    assert len(paths) > 1
    frames = {}
    for name, path in paths.items():
        frames[name] = list(range(0, min(vl.index_video(path).num_frames, 300), 12))
    turns = [name for other in paths if other != "many" for name in (other, "many", other, "many")]
    wrong, _, report = decode_in_turn(paths, turns, frames)
    assert not wrong, report
