"""Clips from the cache: those that decoding gives, whatever happens to their files."""

import logging
import os
import pickle
import resource
import signal
import struct
import time
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from audio_files import make_signal, write_sound
from damaged_videos import FRAMES, make_videos

import videoloader as vl
from videoloader.audio.request import SoundSpan
from videoloader.codecs.color import Color
from videoloader.decoding import clip_cache
from videoloader.decoding.assembly import Assembly
from videoloader.decoding.clip_cache import ClipCache, clip_key
from videoloader.decoding.opening.videos import OpenedVideo
from videoloader.decoding.options import DecodingRules
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.request import ClipRequest
from videoloader.errors import ArgumentError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import Orientation
from videoloader.machinery.system.kept_files import KeptFiles, as_bytes, held
from videoloader.sampling import DenseClips, EvenClips, RandomClip, UniformClip
from videoloader.sources.items import Item

COUNT = 3
CLIP_BYTES = 2 * 96 * 128 * 3
HOUR = 3600


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return make_videos(tmp_path_factory.mktemp("videos"), count=COUNT)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def loader(videos, sampler=None, **options):
    sampler = sampler or UniformClip(2)
    return vl.Loader(videos, sampler, **{"batch_size": COUNT, "workers": 0, **options})


def epoch_of(batches):
    """All batches of epoch 1, and hits and misses."""
    batches.set_epoch(1)
    with batches:
        made = list(batches)
    work = batches.stats().work
    return made, (work.cache_hits, work.cache_misses)


def same(one, other):
    """Whether two batches are the same, element types included."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def check(videos, cache, sampler=None, *, hits, repeated=0, **options):
    """Decode without the cache, with it empty, and with it full: all batches are the same."""
    expected, _ = epoch_of(loader(videos, sampler, **options))
    cold, counts = epoch_of(loader(videos, sampler, cache=cache, **options))
    assert same(cold, expected)
    assert counts[0] == repeated
    warm, counts = epoch_of(loader(videos, sampler, cache=cache, **options))
    assert same(warm, expected)
    assert counts[0] == hits
    return counts[1]


def files(cache):
    return sorted(cache.glob("*/*"))


FORMS = [
    {"dtype": "uint8", "layout": "FHWC"},
    {"dtype": "uint16", "layout": "CFHW", "size": 32},
    {"dtype": "float16", "layout": "FCHW", "resize_shorter": 40, "crop_size": 32},
    {"dtype": "bfloat16", "layout": "CFHW", "mean": (1, 2, 3), "std": 5.0},
    {"dtype": "float32", "layout": "FHWC", "output": "gray"},
    {"output": "yuv"},
    {
        "random_resized_crop": ((0.3, 1.0), (0.7, 1.4)),
        "size": 24,
        "random_flip": 0.5,
        "num_crops": 1,
    },
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_clips_of_every_form_are_those_that_decoding_gives(paths, cache, form):
    assert check(paths, cache, RandomClip(2), hits=COUNT, **form) == 0


@pytest.mark.parametrize(
    "sampler", [UniformClip(3), EvenClips(2, 2), RandomClip(20, stride=3)], ids=str
)
@pytest.mark.parametrize("pad_mode", ["constant", "reflect"])
def test_clips_of_every_sampler_are_those_that_decoding_gives(paths, cache, sampler, pad_mode):
    options = {
        "pad_mode": pad_mode,
        "fill_value": (9, 8, 7),
        "num_crops": 2,
        "size": 48,
        "crop_size": 32,
    }
    check(paths, cache, sampler, hits=COUNT, **options)


def test_clips_of_several_sizes_and_lengths(paths, cache, demo_folder):
    videos = [*paths[:2], demo_folder / "odd_size.mp4"]
    assert check(videos, cache, DenseClips(6), hits=3) == 0


def test_sound_is_part_of_a_clip(tmp_path, paths, cache):
    sound = tmp_path / "sound.mkv"
    write_sound(sound, make_signal(1.0, 16000, 2), 16000, "flac", with_video=True)
    videos = [sound, paths[0]]  # which has none
    check(videos, cache, hits=2, audio=True, size=32)
    check(videos, cache, hits=2, audio=True, audio_sample_rate=8000, audio_channels=1, size=32)
    check(videos, cache, hits=2, size=32)
    check(videos, cache, EvenClips(2, 2), hits=2, audio=True, size=32)


@pytest.mark.parametrize("on_error", ["skip", "replace", "mask"])
def test_clips_that_fail_are_not_kept(tmp_path, cache, on_error):
    videos = make_videos(tmp_path / "videos", count=5, damaged=[1], unreadable=[3])
    repeated = 2 if on_error == "replace" else 0
    options = {"repeated": repeated, "on_error": on_error, "batch_size": 5}
    check(videos, cache, UniformClip(3), hits=3 + repeated, **options)
    assert len(files(cache)) == 3


def test_an_error_is_that_of_decoding(tmp_path, cache):
    videos = make_videos(tmp_path / "videos", count=2, damaged=[1])
    for _ in range(2):
        with pytest.raises(vl.VideoError, match=r"1\.mp4"):
            epoch_of(loader(videos, UniformClip(3), batch_size=2, cache=cache))


def test_what_was_made_with_worker_processes_serves_this_one_and_a_data_set(paths, cache):
    options = {"size": 32, "cache": cache}
    (batch,), _ = epoch_of(loader(paths, RandomClip(2), **options, workers=1))
    (other,), counts = epoch_of(loader(paths, RandomClip(2), **options))
    assert counts == (COUNT, 0)
    assert same(other, batch)
    dataset = pickle.loads(pickle.dumps(vl.ClipDataset(paths, RandomClip(2), **options)))
    dataset.set_epoch(1)
    samples = dataset.__getitems__(range(COUNT))
    assert same([sample["frames"] for sample in samples], list(batch["frames"]))
    assert dataset.stats().work.cache_hits == COUNT
    assert dataset.stats().as_dict()["frames_decoded"] == 0


def test_a_resumed_run_goes_on_from_the_cache(paths, cache):
    options = {"batch_size": 1, "cache": cache}
    expected, _ = epoch_of(loader(paths, RandomClip(2), **options))
    batches = loader(paths, RandomClip(2), **options)
    batches.load_state_dict({**batches.state_dict(), "epoch": 1, "position": 1})
    assert same(list(batches), expected[1:])
    assert batches.stats().work.cache_misses == 0


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_clips_in_one_batch_that_are_kept_and_that_are_not(paths, cache, device):
    epoch_of(loader(paths[:2], cache=cache, device=device))
    expected, _ = epoch_of(loader(paths, device=device))
    found, counts = epoch_of(loader(paths, cache=cache, device=device))
    assert same(found, expected)
    assert counts == (2, 1)


def test_a_changed_file_is_decoded_again(tmp_path, cache):
    (path,) = make_videos(tmp_path / "videos", count=1)
    epoch_of(loader([path], cache=cache))
    data = bytearray(path.read_bytes())
    packet = vl.index_video(path).packets[0]
    begin = int(packet["offset"]) + int(packet["size"]) // 2
    data[begin : begin + 8] = bytes(8)  # decodes to other pixels, or not at all
    path.write_bytes(data)
    os.utime(path, (1, 1))
    options = {"on_error": "mask"}
    found, counts = epoch_of(loader([path], cache=cache, **options))
    assert counts == (0, 1)
    assert same(found, epoch_of(loader([path], **options))[0])


@pytest.mark.parametrize("damage", ["byte", "shorter", "longer", "empty", "renamed"])
def test_a_damaged_file_is_removed_and_made_again(paths, cache, damage):
    expected, _ = epoch_of(loader(paths, cache=cache))
    one, other, _ = files(cache)
    data = bytearray(one.read_bytes())
    if damage == "byte":
        data[len(data) // 2] ^= 4
    made = {
        "byte": data,
        "shorter": data[:-1],
        "longer": data + b"\0",
        "empty": b"",
        "renamed": other.read_bytes(),
    }
    one.write_bytes(made[damage])
    found, counts = epoch_of(loader(paths, cache=cache))
    assert (same(found, expected), counts) == (True, (COUNT - 1, 1))
    assert epoch_of(loader(paths, cache=cache))[1] == (COUNT, 0)


@pytest.mark.parametrize(
    "sound",
    [
        b"",
        b"a",
        struct.pack("<QIII", 0, 1, 0, 0)[:-1],
        struct.pack("<QIII", 0, 1, 0, 0) + b"a",
        struct.pack("<QIII", 1, 1, 8000, 0),
        struct.pack("<QIII", 2**63, 2**31, 8000, 2**31),
        struct.pack("<QIII", 0, 0, 0, 0),
        struct.pack("<QIIIqqq", 0, 1, 0, 3, 0, 0, 0),
        struct.pack("<QIIIqqf", 1, 1, 8000, 2, 2, -1, 0.5),
        struct.pack("<QIIIqqf", 1, 1, 8000, 2, 1, 1, 0.5),
    ],
    ids=repr,
)
@pytest.mark.parametrize("audio", [False, True])
def test_a_wrong_form_with_a_right_checksum_is_decoded_again(paths, cache, sound, audio):
    clips = EvenClips(2, 2)
    expected, _ = epoch_of(loader(paths, clips, cache=cache, audio=audio))
    one = files(cache)[0]
    size = one.stat().st_size - len(struct.pack("<QIII", 0, 1, 0, 0)) - 4
    one.unlink()
    kept = KeptFiles(cache, "clip", 10**9, what="decoded clips")
    kept.write(one.stem, bytes(size), sound)
    assert one.exists()
    found, (hits, misses) = epoch_of(loader(paths, clips, cache=cache, audio=audio))
    assert same(found, expected)
    assert misses == 1
    assert epoch_of(loader(paths, clips, cache=cache, audio=audio))[1] == (hits + 1, 0)


def test_the_clips_take_no_more_than_their_limit_and_the_oldest_go(tmp_path, cache):
    videos = make_videos(tmp_path / "videos", count=8)
    foreign = cache / "00" / "notes.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("not a clip")
    room = 4
    options = {"cache": cache, "cache_size": room * (CLIP_BYTES + 100), "batch_size": 1}
    for number, video in enumerate(videos):
        epoch_of(loader([video], **options))
        for file in files(cache):
            os.utime(file, (stamp := os.stat(file).st_mtime - HOUR, stamp))
        kept = [file for file in files(cache) if file.suffix == ".clip"]
        assert len(kept) <= room
        assert sum(file.stat().st_size for file in kept) <= options["cache_size"]
        if number:  # used in each round, so never the oldest
            assert epoch_of(loader(videos[:1], **options))[1] == (1, 0)
    assert epoch_of(loader(videos[-1:], **options))[1] == (1, 0)
    assert epoch_of(loader(videos[1:2], **options))[1] == (0, 1)
    assert foreign.read_text() == "not a clip"
    before = files(cache)
    epoch_of(loader(videos[:2], UniformClip(3), cache=cache, cache_size=CLIP_BYTES))
    assert files(cache) == before  # a clip larger than the limit is not kept


def fork(work):
    """Start a fork that runs a function and ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def test_processes_share_a_cache(cache):
    """Each writes, reads and removes the same clips; what is read is always what was written."""
    shared = ClipCache(cache, 1 << 30)
    keys = [f"{number:032x}" for number in range(3)]
    clip = SimpleNamespace(heard=None, sounds=(), request=SimpleNamespace(clips=1))

    def run():  # without an operation of torch, whose threads a fork lacks
        memory = torch.from_numpy(np.zeros(1 << 16, np.uint8))
        hits = 0
        for turn in range(300):
            number = turn % 3
            shared._write(keys[number], np.full(1 << 16, number, np.uint8), None)
            if shared._read(keys[number], clip, memory, with_sound=False):
                hits += 1
                assert (memory.numpy() == number).all()
            if turn % 7 == 0:
                shared._kept.path(keys[(turn + 1) % 3]).unlink(missing_ok=True)
        assert hits > 100

    for pid in [fork(run), fork(run)]:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert {file.suffix for file in files(cache)} == {".clip"}


def test_a_killed_process_leaves_no_half_clip(cache, monkeypatch):
    key, frames = f"{1:032x}", np.zeros(CLIP_BYTES, np.uint8)

    def run():
        monkeypatch.setattr(Path, "replace", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        ClipCache(cache, 1 << 30)._write(key, frames, None)

    _, status = os.waitpid(fork(run), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    (left,) = files(cache)
    assert left.suffix == ".partial"
    ClipCache(cache, 1 << 30)._write(key, frames, None)
    assert len(files(cache)) == 2  # another process may be writing it
    old = time.time() - 2 * HOUR
    os.utime(left, (old, old))
    ClipCache(cache, 1 << 30)._write(f"{2:032x}", frames, None)
    assert [file.suffix for file in files(cache)] == [".clip", ".clip"]


def test_who_finds_another_one_removing_files_keeps_nothing(paths, cache):
    limit = COUNT * (CLIP_BYTES + 100)
    epoch_of(loader(paths, cache=cache, cache_size=limit))
    with held(cache / "remove.lock") as is_held:
        assert is_held
        before = files(cache)
        epoch_of(loader(paths, cache=cache, cache_size=limit, size=90))
        assert files(cache) == before


@pytest.mark.parametrize("trouble", ["no folder", "full"])
def test_a_cache_that_cannot_be_written_costs_one_warning(paths, cache, caplog, trouble):
    expected, _ = epoch_of(loader(paths, batch_size=1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if trouble == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (CLIP_BYTES // 2, limits[1]))
        else:
            cache = Path("/proc/cache")
        with caplog.at_level(logging.WARNING):
            found, _ = epoch_of(loader(paths, batch_size=1, cache=cache))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same(found, expected)
    (record,) = caplog.records
    assert "no longer kept" in record.message
    assert not files(cache)


def test_a_read_only_folder_is_read(paths, cache, monkeypatch):
    expected, _ = epoch_of(loader(paths, cache=cache))
    for file in files(cache):
        os.utime(file, (1, 1))

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "utime", refuse)
    found, counts = epoch_of(loader(paths, cache=cache))
    assert (same(found, expected), counts) == (True, (COUNT, 0))


@pytest.mark.parametrize(
    "options",
    [
        {"cache": 3},
        {"cache": "s3://bucket/cache"},
        {"cache": __file__},
        {"cache_size": "50 gigabytes"},
        {"cache_size": 0},
        {"cache_size": True},
        {"cache_size": 1.5},
        {"cache_size": "1GB"},  # without a cache
    ],
    ids=str,
)
def test_wrong_options_are_refused(paths, options):
    with pytest.raises(ArgumentError, match=next(iter(options))):
        loader(paths, **options)


@pytest.mark.parametrize(
    ("given", "size"),
    [(7, 7), ("50GB", 50 * 10**9), ("1.5 TB", 15 * 10**11), ("2GiB", 2 << 30), ("9B", 9)],
)
def test_sizes_are_bytes(given, size):
    assert as_bytes("size", given) == size


def key_of(
    source, *, index=None, output=None, rules=None, device="cpu", frames=(0, 5, 20), **request
):
    """The key of a clip whose frame 20 is outside the video."""
    frames = None if "times" in request else frames
    wanted = ClipRequest(source, frames, **{"pad_mode": "constant", **request})
    opened = source.open()
    with opened:
        video = OpenedVideo(source, opened, index or vl.index_video(opened))
        rules = rules or DecodingRules()
        assembly = Assembly([wanted], [video], output or OutputFormat(), None, rules, [])
        return clip_key(assembly.clips[0], assembly.output, rules, torch.device(device))


# For each field options of a clip, and others that change its pixels or sound by that field alone.
REQUESTS = {
    "frames": ({}, {"frames": (0, 6, 20)}),
    "pad_mode": ({}, {"pad_mode": "edge"}),
    "fill_value": ({}, {"fill_value": 3}),
    "size": ({}, {"size": 40}),
    "crop": ({}, {"crop": (0, 0, 40, 40)}),
    "flip": ({}, {"flip": True}),
    "times": ({}, {"times": [0.0, 0.2]}),
    "nearest": ({"times": [0.03]}, {"times": [0.03], "nearest": True}),
    "window": ({"size": 40}, {"size": 40, "window": (0, 0, 20, 20)}),
    "snap": ({}, {"snap": "keyframe"}),
    "resize_shorter": ({}, {"resize_shorter": 40}),
    "sound": (
        {"rules": DecodingRules(audio=True)},
        {"rules": DecodingRules(audio=True), "sound": [SoundSpan(0.0, 0.1)]},
    ),
    "clips": ({}, {"clips": 3}),
    "start": ({"pad_mode": "edge"}, {"pad_mode": "edge", "start": 2}),
    "stop": ({"pad_mode": "edge"}, {"pad_mode": "edge", "stop": 5}),
}
FLOAT = {"dtype": "float32"}
FORMATS = {
    "dtype": ({}, FLOAT),
    "layout": ({}, {"layout": "FCHW"}),
    "mean": (FLOAT, FLOAT | {"mean": 10.0}),
    "std": (FLOAT, FLOAT | {"std": 2.0}),
    "interpolation": ({}, {"interpolation": "nearest"}),
    "tone_map": ({}, {"tone_map": "hable"}),
    "matrix": ({}, {"matrix": "swscale"}),
    "color_range": ({}, {"color_range": "full"}),
    "chroma": ({}, {"chroma": "linear"}),
    "output": ({}, {"output": "gray"}),
}
RULES = {
    "rotate": ({}, {"rotate": False}),
    "resolution_change": ({}, {"resolution_change": "scale"}),
    "hybrid": ({}, {"hybrid": True}),
    "audio": ({}, {"audio": True}),
    "audio_sample_rate": ({"audio": True}, {"audio": True, "audio_sample_rate": 8000}),
    "audio_channels": ({"audio": True}, {"audio": True, "audio_channels": 1}),
}
INDEXES = {
    "width": 126,
    "stream": 1,
    "codec": "hevc",
    "color": Color(matrix="bt709"),
    "orientation": Orientation(flip_x=True),
    "extradata": ((0, b"other"),),
}


def names(value):
    return {field.name for field in fields(value)}


def test_every_field_is_known_here():
    """A new field needs a pair above, unless it changes no pixel."""
    assert names(ClipRequest) == REQUESTS.keys() | {"source", "index", "tolerance"}
    assert names(OutputFormat) == FORMATS.keys()
    assert names(DecodingRules) == RULES.keys() | {"max_pixels", "in_order", "is_strict"}
    left_out = clip_cache._NOT_OF_INDEX
    assert left_out == {"name", "fingerprint", "warnings", "checks", "traits"} < names(VideoIndex)


def test_every_field_that_changes_pixels_changes_the_key(paths):
    item = Item(str(paths[0]))
    for name, (one, other) in REQUESTS.items():
        assert key_of(item, **one) != key_of(item, **other), name
    for name, (one, other) in FORMATS.items():
        kinds = OutputFormat(**one), OutputFormat(**other)
        assert key_of(item, output=kinds[0]) != key_of(item, output=kinds[1]), name
    for name, (one, other) in RULES.items():
        rules = DecodingRules(**one), DecodingRules(**other)
        assert key_of(item, rules=rules[0]) != key_of(item, rules=rules[1]), name


def test_the_key_knows_the_file_and_its_index(tmp_path, paths, monkeypatch):
    item = Item(str(paths[0]))
    usual, index = key_of(item), vl.index_video(paths[0])
    assert key_of(item, index=replace(index, name="other", warnings=("one",))) == usual
    for name, value in INDEXES.items():
        assert key_of(item, index=replace(index, **{name: value})) != usual, name
    packets = index.packets.copy()
    packets["size"][-1] += 1
    assert key_of(item, index=replace(index, packets=packets)) != usual
    assert key_of(Item(str(paths[1]))) != usual  # the same bytes elsewhere
    copy = tmp_path / "copy.mp4"
    copy.write_bytes(paths[0].read_bytes())
    before = key_of(Item(str(copy)))
    os.utime(copy, ns=(0, os.stat(copy).st_mtime_ns + 1))
    assert key_of(Item(str(copy))) != before
    monkeypatch.setattr(clip_cache, "_FORMAT", 99)
    assert key_of(item) != usual
    assert FRAMES == 12  # frame 20 is outside


@pytest.mark.gpu
@pytest.mark.parametrize("form", FORMS[:5], ids=str)
def test_a_gpu_gets_what_it_decoded_and_not_what_the_cpu_did(paths, cache, form):
    epoch_of(loader(paths, RandomClip(2), cache=cache, **form))
    assert check(paths, cache, RandomClip(2), hits=COUNT, device="cuda", **form) == 0
