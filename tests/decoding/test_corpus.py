"""Every real file: frames are bit for bit those of FFmpeg's full decode, in whatever order."""

import random

import numpy as np
import pytest
from corpus_files import corpus_files, has_reference, md5_of, packets_fed

import videoloader as vl
from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.indexing import open_source
from videoloader.sampling import plan_decode

SOUND = corpus_files(
    lambda file: has_reference(file) and not file.is_damaged and file.reference["frames"]
)
DAMAGED = corpus_files(lambda file: has_reference(file) and file.is_damaged)


def stretches(index, count):
    """All frames of a short video; of a long one its ends, and some around a keyframe in it."""
    if count <= 120:
        return list(range(count))
    middle = int(index.keyframes[len(index.keyframes) // 2])
    wanted = {*range(40), *range(max(middle - 20, 0), middle + 20), *range(count - 40, count)}
    return sorted(number for number in wanted if number < count)


@pytest.mark.parametrize("file", SOUND)
def test_frames_in_any_order_are_those_of_a_full_decode(file):
    index = vl.index_video(file.path, stream=file.stream)
    hashes = file.expected_hashes
    count = min(len(hashes), index.num_frames)
    rng = random.Random(file.path.name)
    with vl.Video(file.path, index=index) as video:
        backwards = range(count - 1, max(-1, count - 41), -3)
        for frames in (stretches(index, count), [*backwards, *rng.choices(range(count), k=6)]):
            decoded = {number: md5_of(surface) for number, surface in video.decode(frames)}
            assert decoded == {number: hashes[number] for number in frames}


@pytest.mark.parametrize("file", SOUND)
def test_single_frames_from_a_cold_decoder_are_right(file):
    index = vl.index_video(file.path, stream=file.stream)
    hashes = file.expected_hashes
    count = min(len(hashes), index.num_frames)
    rng = random.Random(file.path.name)
    near_keys = [k + d for k in index.keyframes[:2].tolist() for d in (-1, 0, 1)]
    chosen = {0, count - 1, *rng.choices(range(count), k=1), *near_keys}
    for number in sorted(n for n in chosen if 0 <= n < count):
        with vl.Video(file.path, index=index) as video:
            assert [(n, md5_of(s)) for n, s in video.decode([number])] == [(number, hashes[number])]


@pytest.mark.parametrize("file", SOUND)
def test_dropping_disposable_packets_changes_no_frame(file):
    index = vl.index_video(file.path, headers=True, stream=file.stream)
    if not index.disposable.any():
        pytest.skip("nothing can be dropped")
    hashes = file.expected_hashes
    wanted = np.arange(0, min(index.num_frames, len(hashes), 60), 4)
    plain = vl.index_video(file.path, stream=file.stream)
    with open_source(file.path) as source:
        decoder = CpuDecoder(plain, source, drop="disposable")
        frames = {n: md5_of(s) for n, s in decoder.decode(plan_decode(plain, wanted))}
        assert frames == {number: hashes[number] for number in wanted.tolist()}
        # Known from the index beforehand, or found out while decoding: the same packets.
        fed = packets_fed(index, source, wanted, "disposable")
        assert fed == packets_fed(plain, source, wanted, "disposable")
    assert len(fed) == decoder.counts.packets == plan_decode(index, wanted).num_packets
    assert len(fed) <= plan_decode(plain, wanted).num_packets


@pytest.mark.parametrize("file", DAMAGED)
def test_a_damaged_file_gives_the_reference_or_an_error_that_names_it(file):
    try:
        index = vl.index_video(file.path, stream=file.stream)
        with vl.Video(file.path, index=index) as video:
            for number in range(0, len(video), max(len(video) // 10, 1)):
                try:
                    decoded = dict(video.decode([number]))
                except vl.VideoError as error:
                    assert file.path.name in str(error)
                    assert f"frame {number}" in str(error)
                    continue
                if file.has_comparable_hashes and len(video) == len(file.reference["frames"]):
                    assert md5_of(decoded[number]) == file.hashes[number]
    except vl.VideoError as error:
        assert file.path.name in str(error)


@pytest.mark.parametrize("file", corpus_files(lambda f: f.path.name == "decord__corrupted.mp4"))
def test_frames_before_the_damage_are_given_and_those_behind_are_not(file):
    with vl.Video(file.path) as video:
        good = [number for number in range(len(video)) if decodes(video, number)]
    assert good
    assert len(good) < len(video)


def decodes(video, number):
    try:
        return number in dict(video.decode([number]))
    except vl.errors.DecodeError:
        return False
