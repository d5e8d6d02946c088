"""What goes wrong names the file and says what to do; what users try first works."""

import io
import pickle
import subprocess
import sys
import tarfile
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from fake_gpu import fake_gpu  # noqa: F401  (a fixture)
from gpu_decoder import consumer, decoder  # noqa: F401  (fixtures)
from tagged_videos import tagged_video

import videoloader as vl
from videoloader.compat import decord
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing import open_source
from videoloader.indexing.dataset import find_items, merge_datasets
from videoloader.indexing.packets import PacketFlags


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")
    return encode_video(folder / "clip.mp4", frames=20, size=(128, 96), options={"g": "8"})


@pytest.fixture(scope="module")
def archive(path):
    name = path.with_name("shard.tar")
    with tarfile.open(name, "w") as tar:
        tar.add(path, "a/clip.mp4")
        damaged = bytearray(path.read_bytes())
        damaged[len(damaged) // 2 : len(damaged) // 2 + 2000] = bytes(2000)
        for member, data in {"b/bad.mp4": damaged, "c/none.mp4": b"no video at all" * 9}.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return name


def number(frame):
    return read_frame_number(frame.numpy())


def hidden(index):
    """The index of a video none of whose packets is shown."""
    return index.with_flags(PacketFlags.HIDDEN, np.ones(len(index.packets), np.bool_))


# ---- numbers and truth values

CLIP = vl.RandomClip(2)


def load(path, **options):
    vl.Loader([path], CLIP, **{"batch_size": 1, "workers": 0, **options})


def take(path, *frames, **options):
    with vl.Video(path) as video:
        get = video.get_frames_at_times if "times" in options else video.get_frames
        return get(*frames, **options).indices.tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: vl.RandomClip("16"), "count must be a whole number of at least 1, got '16'"),
        (lambda _: vl.UniformClip("8"), "count must be a whole number of at least 1, got '8'"),
        (lambda _: vl.RandomClip(16, fps="8"), "fps must be a number above 0, got '8'"),
        (lambda p: load(p, workers="2"), "workers must be a whole number of at least 0, got '2'"),
        (lambda p: load(p, prefetch="a"), "prefetch must be a whole number of at least 1"),
        (lambda p: load(p, seed="a"), "seed must be a whole number, got 'a'"),
        (lambda p: load(p, random_flip="x"), "random_flip must be a number from 0 to 1, got 'x'"),
        (lambda p: load(p, size=1.5), "size must be .height, width. in whole pixels, .* got 1.5"),
        (
            lambda p: load(p, crop_size=(1, 2.0)),
            "crop_size must be .height, width. in whole pixels",
        ),
        (lambda p: load(p, batch_size=2.0), "batch_size must be a whole number of .* got 2.0"),
        (lambda p: load(p, stats_interval=[]), "stats_interval must be a number of at least 0"),
        (lambda p: load(p, clips_per_video=True), "clips_per_video must be a whole number"),
        (lambda p: load(p, memory_limit=1.5), "memory_limit, unless None or .auto., must be a w"),
        (lambda p: load(p, rank=0, num_ranks="2"), "num_ranks must be a whole number"),
        (lambda p: load(p, shuffle="yes"), "shuffle must be True or False, not text, got 'yes'"),
        (lambda p: load(p, audio="yes"), "audio must be True or False, not text"),
        (lambda p: load(p, balanced="no"), "balanced must be True or False, not text"),
        (lambda p: vl.Audio(p, sample_rate="16k"), "sample_rate must be a whole number of at lea"),
        (lambda p: vl.Video(p, threads="2"), "threads must be a whole number of at least 1"),
        (lambda p: vl.Video(p, strict="no"), "strict must be True or False, not text"),
        (lambda p: take(p, [0], flip="no"), "flip must be True or False"),
        (lambda p: take(p, start="1"), "start must be a whole number, got '1'"),
        (lambda p: take(p, times=[0], nearest="no"), "nearest must be True or False, not text"),
        (lambda p: take(p, times=[0], tolerance="1"), "tolerance must be a number of at least 0"),
        (lambda _: vl.EpochSampler("my_videos"), "samples must be a data set,.* got 'my_videos'"),
        (lambda _: vl.EpochSampler([0, 1.5]), "samples must be a data set, a sampler"),
        (lambda _: vl.EpochSampler(4, seed=1.5), "seed must be a whole number, got 1.5"),
        (lambda p: vl.ClipDataset([p], CLIP)["a"], "sample must be a whole number, got 'a'"),
        (lambda p: vl.ClipDataset([p], CLIP)[("a", 0)], "sample must be a whole number, got 'a'"),
        (lambda p: vl.ClipDataset([p], CLIP, seed="a"), "seed must be a whole number, got 'a'"),
        (lambda p: vl.ClipDataset([p], vl.RandomClip), "is the class RandomClip; call it"),
        (lambda p: vl.Loader([p], vl.RandomClip, batch_size=1), "is the class RandomClip; call"),
        (lambda p: vl.Loader([p], 16, batch_size=1), "must be a clip sampler such as .* got 16"),
        (lambda p: vl.ClipDataset(7, CLIP), "a video must be a path, .* got 7"),
        (lambda p: vl.transcode(p, p.parent / "out", gop="8"), "gop must be a whole number"),
        (
            lambda p: vl.transcode(p, p.parent / "out", sampler=vl.RandomClip),
            "sampler is the class",
        ),
        (lambda p: vl.index_dataset([(p, 0)], p.parent / "out.parquet"), "labels go to labels="),
        (
            lambda p: vl.index_dataset({p: 0}, p.parent / "out.parquet"),
            "a mapping.*labels to",
        ),
        (lambda p: take(p, times=["0.5"]), r"times in seconds must be numbers, got \['0.5'\]"),
        (lambda p: take(p, times="0.5"), "times in seconds must be numbers, got '0.5'"),
        (lambda p: take(p, times=[None]), "times in seconds must be numbers"),
        (lambda p: take(p, times=np.timedelta64(1, "s")), "times in seconds must be numbers"),
        (
            lambda p: vl.decode_batch([vl.ClipRequest(p, times=[Fraction(1, 2), "1"])], workers=0),
            "times in seconds must be numbers",
        ),
        (lambda p: take(p, [0], dtype="float32", mean="100"), "mean must be numbers, got '100'"),
        (lambda p: take(p, [0], dtype="float32", std=["9", 9, 9]), "std must be numbers"),
        (lambda p: load(p, weights=["2"]), "weights must be numbers"),
        (lambda p: load(p, weights={str(p): "2"}), "weights must be numbers"),
        (lambda p: load(p, weights=lambda _: "2"), "weights must be numbers"),
        (
            lambda p: vl.write_video(
                np.zeros((1, 8, 8, 3), np.uint8), p.parent / "o.mp4", times="0"
            ),
            "times must be numbers, got '0'",
        ),
    ],
)
def test_an_argument_of_another_type_is_told_by_name_and_range(path, call, words):
    with pytest.raises(vl.errors.ArgumentTypeError, match=words):
        call(path)


def test_numbers_of_numpy_and_torch_are_numbers(path):
    assert vl.RandomClip(np.int64(4), fps=np.float32(2)).count == 4
    for half in (np.float16(0.5), [Fraction(1, 2)], [torch.tensor(0.5)], Decimal("0.5")):
        assert take(path, times=half) == take(path, times=[0.5])
    load(
        path,
        batch_size=np.uint8(2),
        seed=torch.tensor(3),
        random_flip=np.float32(0.5),
        size=np.int16(8),
    )
    assert len(vl.EpochSampler(np.int64(3), shuffle=np.bool_(1))) == 3


# ---- samplers


@pytest.mark.parametrize(
    "sampler", [vl.RandomClip(4), vl.UniformClip(4), vl.DenseClips(4), vl.SegmentClip(2)]
)
def test_a_video_without_frames_is_named_where_clips_are_sampled(path, sampler):
    empty = {str(path): hidden(vl.index_video(path))}
    dataset = vl.ClipDataset([path], sampler, indexes=empty)
    with pytest.raises(vl.errors.ArgumentError, match=r"clip\.mp4: cannot sample .* of 0 frames"):
        dataset[0]


def test_a_video_without_a_rate_is_named_where_one_is_needed(path):
    index = vl.index_video(path)
    packets = index.packets.copy()
    packets["duration"] = packets["pts"] = 0
    index = replace(index, packets=packets)
    dataset = vl.ClipDataset([path], vl.RandomClip(4, fps=3), indexes={str(path): index})
    with pytest.raises(vl.errors.ArgumentError, match=r"clip\.mp4: a sampler with fps="):
        dataset[0]


# ---- requests


@pytest.mark.parametrize("device", ["gpu", "mixed"])
def test_devices_of_dali_are_answered_with_ours(path, device):
    with pytest.raises(vl.errors.ArgumentError, match=f'got {device!r}; "cuda" decodes on the GPU'):
        vl.Video(path, device=device)


def test_a_size_that_is_text_is_told_as_text(path):
    with pytest.raises(vl.errors.ArgumentError, match=r"whole pixels, 1 to 32768, got '224'$"):
        vl.ClipDataset([path], vl.UniformClip(2), size="224")


def test_a_negative_frame_number_is_told_with_what_is_meant(path):
    with vl.Video(path) as video:
        with pytest.raises(
            vl.errors.FrameRangeError, match=r"before the video, video\[-1\] is its last"
        ):
            video.get_frames([-1])
        with pytest.raises(vl.errors.FrameRangeError, match=r"to repeat the edge frame$"):
            video.get_frames([len(video)])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda path: (path, [1], 3), "tuple of 3"),
        (lambda path: (path,), "tuple of 1"),
        (lambda path: str(path), "str"),
        (lambda path: "ab", "str"),
        (lambda path: {"source": path}, "dict"),
        (lambda path: None, "NoneType"),
    ],
)
def test_what_is_no_request_is_an_error_that_shows_one(path, wrong, words):
    with vl.BatchDecoder(workers=0) as decoder:
        with pytest.raises(
            vl.errors.ArgumentError, match=rf"request 1 is a {words}.*\(source, frames\)"
        ):
            decoder.decode([(path, [0]), wrong(path)])
        assert decoder.decode([[path, [0]]]).frames.shape[:2] == (1, 1)


@pytest.mark.parametrize("clips", [1.5, -1, "2", None])
def test_a_number_of_clips_is_a_whole_number(path, clips):
    with pytest.raises(vl.errors.ArgumentError, match="clips must be a whole number of at least 0"):
        vl.ClipRequest(path, [0, 1], clips=clips)


def test_a_frame_out_of_range_is_told_in_one_sentence_everywhere(path):
    with vl.Video(path) as video:
        number, said = len(video), f"{video.name}: frame {len(video)} requested, the video has "
        said += f"{len(video)} frames (0-{len(video) - 1})"
        for read in (
            lambda: video[number],
            lambda: video.get_frames([number]),
            lambda: decord.VideoReader(str(path))[number],
            lambda: decord.VideoReader(str(path)).get_batch([0, number]),
        ):
            with pytest.raises(vl.errors.FrameRangeError) as error:
                read()
            assert str(error.value).startswith(said)


def test_errors_that_are_raised_by_default_name_on_error_in_a_note(path, tmp_path):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(path.read_bytes()[:500])
    clips = vl.UniformClip(2)
    reads = {
        "raise": lambda: vl.decode_batch([(bad, [0])], workers=0),
        "data set": lambda: vl.ClipDataset([bad], clips)[0],
        "loader": lambda: next(iter(vl.Loader([bad], clips, batch_size=1, workers=0))),
    }
    for read in reads.values():
        with pytest.raises(vl.VideoError) as error:
            read()
        (note,) = error.value.__notes__
        assert all(f'"{choice}" ' in note for choice in ("skip", "replace", "mask"))
        assert "docs/" not in note  # which an installed package does not have
    with vl.Video(path) as video, pytest.raises(vl.errors.FrameRangeError) as error:
        video.get_frames([-1])  # which has no on_error
    assert not hasattr(error.value, "__notes__")


def test_an_index_of_a_request_is_an_index(path):
    with pytest.raises(vl.errors.ArgumentTypeError, match=r"VideoIndex.*int 3"):
        vl.ClipRequest(path, [1], 3)
    with pytest.raises(TypeError):
        vl.ClipRequest(path, [1], str(path))


# ---- sources


def test_a_closed_video_is_told_as_closed(path):
    with vl.Video(path) as video:
        pass
    for read in (lambda: video[0], lambda: next(iter(video)), lambda: video.picture_types):
        with pytest.raises(vl.errors.ClosedError, match=r"clip\.mp4: is closed$"):
            read()


def test_a_missing_table_of_labels_is_told_in_few_words(path, tmp_path):
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(vl.errors.SourceError, match=rf"{name}: no such file$"):
            vl.ClipDataset([path], vl.UniformClip(2), labels=vl.LabelColumn(tmp_path / name))


@pytest.mark.parametrize("name", ["out_index", "set.parq", "parquet"])
def test_a_data_set_index_is_written_under_a_name_that_loaders_know(path, tmp_path, name):
    message = rf"{name}: the name of a Parquet table ends in \.parquet, .*/{name}\.parquet$"
    with pytest.raises(vl.errors.ArgumentError, match=message):
        vl.index_dataset(path, tmp_path / name, workers=0)
    dataset = vl.index_dataset(path, tmp_path / "set.parquet", workers=0)
    with pytest.raises(vl.errors.ArgumentError, match=message):
        dataset.videos.write(tmp_path / name)
    with pytest.raises(vl.errors.ArgumentError, match=message):
        merge_datasets([tmp_path / "set.parquet"], tmp_path / name)
    assert not (tmp_path / name).exists()


def test_an_item_of_a_data_set_is_opened_as_a_video(path, archive, tmp_path):
    dataset = vl.index_dataset([path, archive], tmp_path / "set.parquet", workers=0)
    for place in range(2):
        with vl.Video(dataset.item(place), index=dataset[place]) as video:
            assert number(video[7]) == 7
        with vl.Video(dataset.item(place)) as video:
            assert number(video[3]) == 3
            text = pickle.dumps(video)
        with pickle.loads(text) as again:
            assert number(again[5]) == 5


def test_errors_in_an_archive_name_it_and_the_member(archive):
    good, bad, none = find_items(archive)
    member = r"shard\.tar/a/clip\.mp4"
    with vl.Video(good) as video:
        assert repr(video).startswith(f"<Video {archive}/a/clip.mp4: 20 frames")
        with pytest.raises(vl.errors.FrameRangeError, match=member):
            video.get_frames([99])
        with pytest.raises(vl.errors.SourceError, match=member):
            video._source.read(10**9, 5)
    with (
        vl.Video(bad) as video,
        pytest.raises(vl.errors.DecodeError, match=r"shard\.tar/b/bad\.mp4"),
    ):
        video[:]
    with vl.BatchDecoder(workers=0) as decoder:
        batch = decoder.decode([(bad, range(20))], on_error="mask")
    assert all("shard.tar/b/bad.mp4" in str(failure.error) for failure in batch.failures)
    assert batch.failures
    with pytest.raises(vl.VideoError, match=r"shard\.tar/c/none\.mp4"):
        vl.Video(none)
    with pytest.raises(vl.errors.SourceError, match=r"shard\.tar.*a/clip\.mp4"):
        replace(good, offset=10**9).open()


# ---- sizes


def test_a_video_and_its_index_say_the_size_alike(path, demo_folder):
    with vl.Video(path) as video:
        assert "20 frames, h264 128x96>" in repr(video)
        assert "20 frames, h264 128x96, " in repr(video.index)
    turned = next(file for file in demo_folder.iterdir() if "rot" in file.name)
    with vl.Video(turned) as video, vl.Video(turned, rotate=False) as coded:
        width, height = video.index.width, video.index.height
        assert f" {width}x{height} (displayed {height}x{width})>" in repr(video)
        assert f" {width}x{height} (displayed {height}x{width}), " in repr(video.index)
        assert f" {width}x{height}>" in repr(coded)


# ---- pickles


def test_indexes_are_equal_after_pickling_and_unequal_if_anything_differs(path, demo_folder):
    for file in [path, *sorted(demo_folder.iterdir())]:
        index = vl.index_video(file, headers=True)
        assert index.pts.size  # worked out before it is pickled
        again = pickle.loads(pickle.dumps(index))
        assert again == index
        assert hash(again) == hash(index)
        assert len({index, again}) == 1
        assert "pts" not in again.__dict__
        assert np.array_equal(again.pts, index.pts)
    index = vl.index_video(path)
    changed = index.packets.copy()
    changed["size"][3] += 1
    for other in (
        replace(index, packets=changed),
        replace(index, packets=changed[:-1]),
        replace(index, order=index.frame_packets),
        replace(index, width=130),
        replace(index, extradata=()),
        vl.index_video(demo_folder / "h264.mp4"),
    ):
        assert other != index
    assert index != 3
    assert replace(index) == index
    assert replace(index, order=index.frame_packets) == replace(index, order=index.frame_packets)


@pytest.mark.parametrize("kind", ["path", "str", "url", "bytes", "bytearray", "source"])
def test_a_video_is_the_same_after_pickling(path, kind):
    data = path.read_bytes()
    source = {
        "path": path,
        "str": str(path),
        "url": path.as_uri(),
        "bytes": data,
        "bytearray": bytearray(data),
        "source": path,
    }[kind]
    with vl.Video(open_source(source) if kind == "source" else source) as video:
        text = pickle.dumps(video)
        with pickle.loads(text) as again:
            assert torch.equal(again[:], video[:])
            assert again.index == video.index
            assert repr(again) == repr(video)


def test_the_options_of_a_video_are_pickled(tmp_path, demo_folder):
    untagged = tagged_video(tmp_path / "a.mp4", size=(720, 64))
    turned = next(file for file in demo_folder.iterdir() if "rot" in file.name)
    for file, options in (
        (untagged, {"matrix": "swscale"}),
        (untagged, {"color_range": "full"}),
        (turned, {"rotate": False, "threads": 2, "resolution_change": "scale"}),
    ):
        with vl.Video(file, **options) as video, pickle.loads(pickle.dumps(video)) as again:
            assert torch.equal(again[1], video[1])
            assert again.__reduce__()[0].keywords == video.__reduce__()[0].keywords
            assert options.items() <= again.__reduce__()[0].keywords.items()


def test_a_video_goes_to_a_process_that_was_not_forked(path):
    program = (
        "import pickle, sys; video = pickle.load(sys.stdin.buffer); "
        "print(len(video), int(video[7].sum()), end='')"
    )
    with vl.Video(path) as video:
        text = pickle.dumps(video)
        done = subprocess.run(
            [sys.executable, "-c", program], input=text, capture_output=True, check=True
        )
        assert done.stdout.decode() == f"20 {int(video[7].sum())}"


def test_a_video_whose_file_changed_is_not_unpickled(path, tmp_path):
    copy = tmp_path / "copy.mp4"
    copy.write_bytes(path.read_bytes())
    with vl.Video(copy) as video:
        text = pickle.dumps(video)
    copy.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(vl.errors.StaleIndexError, match=r"copy\.mp4"):
        pickle.loads(text)


def test_a_video_of_an_open_file_says_how_to_pickle_it(path, archive):
    words = r"clip\.mp4: .* does not pickle.* path, .*item of a data set"
    with open(path, "rb") as file:
        for source in (file, find_items(archive)[0].open()):
            with vl.Video(source) as video, pytest.raises(vl.errors.ArgumentTypeError, match=words):
                pickle.dumps(video)


# ---- resolutions that change


@pytest.fixture(scope="module")
def growing(tmp_path_factory):
    """Raw H.264 that begins with 4 frames of 96x64 and goes on with 4 of 160x120."""
    folder = tmp_path_factory.mktemp("growing")
    parts = []
    for name, size in (("small.h264", (96, 64)), ("large.h264", (160, 120))):
        encode_video(folder / name, size=size, frames=4, options={"bf": "0", "g": "4"})
        parts.append((folder / name).read_bytes())
    path = folder / "growing.h264"
    path.write_bytes(b"".join(parts))
    return path


def numbers_of(frames):
    return [number(frame) for frame in frames]


def test_a_change_of_resolution_in_a_batch_is_an_error_or_scaled(growing):
    with vl.Video(growing) as video:
        assert len(video) == 8
        sizes = {(surface.width, surface.height) for _, surface in video.decode(range(8))}
    assert sizes == {(96, 64), (160, 120)}
    request = (growing, [0, 3, 4, 7])
    for workers in (0, 1):
        with vl.BatchDecoder(workers=workers) as decoder:
            with pytest.raises(
                vl.errors.DecodeError, match=r"growing.*160x120.*96x64.*resolution_change=.scale"
            ):
                decoder.decode([request])
            batch = decoder.decode([request], resolution_change="scale")
            assert batch.frames.shape == (1, 4, 64, 96, 3)
            assert numbers_of(batch.frames[0]) == [0, 3, 0, 3]
            sized = decoder.decode([request], size=(60, 90))
            assert numbers_of(sized.frames[0]) == [0, 3, 0, 3]
            assert decoder.decode([(growing, [1])]).frames.shape == (1, 1, 64, 96, 3)
    with vl.Video(growing, resolution_change="scale") as video:
        assert torch.equal(video.get_frames([0, 3, 4, 7]).frames, batch.frames[0])
        assert numbers_of(video) == [0, 1, 2, 3] * 2
    with vl.Video(growing) as video:
        assert torch.equal(video.get_frames([4], size=(60, 90)).frames[0], sized.frames[0, 2])


def test_what_the_error_of_a_change_of_resolution_advises_helps_in_a_data_set_and_a_loader(growing):
    sampler = vl.UniformClip(count=8)

    def samples(**options):
        yield vl.ClipDataset([growing], sampler, **options)[0]["frames"]
        with vl.Loader([growing], sampler, batch_size=1, workers=0, **options) as loader:
            yield next(iter(loader))["frames"][0]

    with vl.BatchDecoder(workers=0) as decoder:
        request = (growing, range(8))
        scaled = decoder.decode([request], resolution_change="scale", layout="FCHW").frames[0]
        sized = decoder.decode([request], size=(60, 90), layout="FCHW").frames[0]
    for options, expected in (
        ({"resolution_change": "scale"}, scaled),
        ({"size": (60, 90)}, sized),
    ):
        assert all(torch.equal(found, expected) for found in samples(**options))
    made = samples()
    with pytest.raises(vl.errors.DecodeError, match=r"resolution_change=.scale"):
        next(made)


def test_a_crop_of_frames_of_another_size_is_an_error_that_says_so(growing):
    request = vl.ClipRequest(growing, [1, 6], crop=(0, 0, 20, 30))
    with vl.BatchDecoder(workers=0) as decoder:
        batch = decoder.decode([request], resolution_change="scale", on_error="mask")
    assert batch.masks[0].tolist() == [True, False]
    (failure,) = batch.failures
    assert (failure.request, failure.frame) == (0, 6)
    assert "crop" in str(failure.error)
    with (
        vl.Video(growing, resolution_change="scale") as video,
        pytest.raises(vl.errors.DecodeError, match=r"frame 6 .*crop"),
    ):
        video.get_frames([1, 6], crop=(0, 0, 20, 30))


def test_only_two_ways_to_meet_a_change_of_resolution(path):
    for wrong in ("crop", None, True):
        with pytest.raises(vl.errors.ArgumentError, match="one of error, scale"):
            vl.decode_batch([(path, [0])], workers=0, resolution_change=wrong)


def test_a_gpu_leaves_a_change_of_resolution_to_the_cpu_and_counts_it(decoder, growing):
    with pytest.raises(vl.errors.DecodeError, match="resolution_change"):
        decoder.decode([(growing, [1, 6])])
    batch = decoder.decode([(growing, [1, 6])], resolution_change="scale")
    assert numbers_of(batch.frames[0]) == [1, 2]
    with vl.BatchDecoder(workers=0) as cpu:
        here = cpu.decode([(growing, [1, 6])], resolution_change="scale")
    assert torch.equal(here.frames[0, 1], batch.frames[0, 1])
    assert sum(decoder.stats()["routed"].values()) >= 1


def test_a_video_on_a_gpu_treats_a_change_of_resolution_as_on_the_cpu(
    decoder,
    growing,
    monkeypatch,
):
    monkeypatch.setattr("videoloader.decoding.batch_decoder.shared_decoder", lambda device: decoder)

    def both(take, **options):
        with vl.Video(growing, **options) as here, vl.Video(growing, **options) as there:
            there.device = torch.device("cuda", 0)
            there._is_on_gpu = True
            difference = take(here).frames.int() - take(there).frames.int()
            assert difference.abs().max() <= 2

    both(lambda video: video.get_frames([1, 6]), resolution_change="scale")
    both(lambda video: video.get_frames([1, 6], size=(64, 96)))
    both(lambda video: video.get_frames([1, 2], crop=(1, 3, 20, 30)))
    with vl.Video(growing) as video:
        video.device = torch.device("cuda", 0)
        video._is_on_gpu = True
        with pytest.raises(vl.errors.DecodeError, match="resolution_change"):
            video.get_frames([1, 6])


def test_iterating_on_a_gpu_tells_from_where_on_the_cpu_decodes(
    decoder,
    growing,
    monkeypatch,
    caplog,
):
    monkeypatch.setattr("videoloader.decoding.batch_decoder.shared_decoder", lambda device: decoder)
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, device: tensor)
    with vl.Video(growing, resolution_change="scale") as video:
        video.device = torch.device("cuda", 0)
        video._is_on_gpu = True
        assert numbers_of(video) == [0, 1, 2, 3] * 2
    # Frames 3 to 6 are decoded as one chunk; the pictures are larger from frame 4 on.
    assert "growing.h264: from frame 4 on decoded on the CPU (" in caplog.text


@pytest.mark.parametrize("kind", [str, Path, vl.ClipRequest])
def test_one_request_is_no_list_of_requests(path, kind):
    with pytest.raises(vl.errors.ArgumentTypeError, match=r"requests are a list .*\.mp4"):
        vl.decode_batch(kind(path))


def test_frames_and_path_in_another_order_are_told(path, tmp_path):
    with pytest.raises(
        vl.errors.ArgumentTypeError, match=r"takes the frames first, got Tensor as path"
    ):
        vl.write_video(tmp_path / "a.mp4", torch.zeros(2, 8, 8, 3, dtype=torch.uint8))


def test_what_get_frames_does_not_take_is_told_with_what_does(path):
    with vl.Video(path) as video:
        with pytest.raises(vl.errors.ArgumentError, match=r"a slice; give range\(start, stop\)"):
            video.get_frames(slice(0, 4))
        with pytest.raises(TypeError, match=r"; video\.get_frames_at_times takes seconds"):
            video.get_frames(times=[0.5])
