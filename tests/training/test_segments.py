"""Parts of videos as samples: what is shown of them, where they come from, what is refused."""

import json
import pickle
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from audio_files import make_signal, write_sound
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.errors import ArgumentError, FormatError
from videoloader.sampling.times import frames_between, ranges_between
from videoloader.training.segments.times import as_seconds

pl = pytest.importorskip("polars")

FPS = 25
LENGTHS = {"long": 100, "short": 30}
ROWS = [
    ("long", 0.4, 1.2, "run"),  # frames 10 to 29
    ("short", 0.0, 0.2, "jump"),  # frames 0 to 4
    ("long", 3.0, 9.0, "run"),  # frames 75 to 99
]
FRAMES = [(10, 30), (0, 5), (75, 100)]
COLUMNS = ["video_id", "start", "end", "label"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("segments") / "videos"
    for place, (name, length) in enumerate(LENGTHS.items()):
        (folder / f"part{place}").mkdir(parents=True)
        path = folder / f"part{place}" / f"{name}.mp4"
        encode_video(path, frames=length, fps=FPS, size=(128, 96))
    return folder


@pytest.fixture(scope="module")
def index(root):
    with vl.index_dataset(root, out=root.parent / "set.parquet", workers=0) as dataset:
        yield dataset


def table(rows=ROWS, names=COLUMNS):
    columns = [[row[place] for row in rows] for place in range(len(names))]
    return pa.table(columns, names=names)


def load(segments, clips, how="loader", **options):
    """All samples in one batch."""
    if how == "loader":
        with vl.Loader(segments, clips, batch_size=len(segments), workers=0, **options) as loader:
            (batch,) = loader
        return batch
    data = vl.ClipDataset(segments, clips, **options)
    (batch,) = DataLoader(data, len(data), collate_fn=vl.collate_samples)
    return batch


def shown(clip):
    """The frame numbers that pictures (..., C, H, W) carry; -1 where they are filled."""
    pictures = clip.movedim(-3, -1).flatten(0, -4).numpy()
    return [read_frame_number(picture) if picture.any() else -1 for picture in pictures]


# What is shown


@pytest.mark.parametrize("how", ["loader", "dataset"])
@pytest.mark.parametrize("indexed", [False, True])
def test_a_sampler_takes_its_frames_from_the_segment_alone(root, index, how, indexed):
    where = {"index": index} if indexed else {"root": root}
    segments = vl.Segments(table(), **where)
    batch = load(segments, vl.UniformClip(3), how, labels="label")
    for number, (start, stop) in enumerate(FRAMES):
        numbers = batch["frame_numbers"][number].tolist()
        assert numbers[0] == start
        assert numbers[-1] == stop - 1
        assert shown(batch["frames"][number]) == numbers
        assert np.allclose(batch["times"][number], np.array(numbers) / FPS)
    assert batch["mask"].all()
    assert batch["labels"].tolist() == [1, 0, 1]
    assert batch["sample"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("indexed", [False, True])
def test_seconds_count_from_the_first_frame_and_times_by_the_clock_of_the_file(tmp_path, indexed):
    videos = tmp_path / "videos"
    videos.mkdir()
    path = encode_video(videos / "late.ts", frames=100, fps=FPS, size=(128, 96))
    begin = float(vl.index_video(path).boundaries[0])
    assert begin > 1.5 / FPS
    where = {"root": videos}
    if indexed:
        where = {"index": vl.index_dataset(videos, out=tmp_path / "set.parquet", workers=0)}

    def pictures(rows, **options):
        batch = load(vl.Segments(table(rows), **options), vl.UniformClip(3), labels="label")
        return shown(batch["frames"][0])

    row = ("late", 1.0, 2.0, "run")
    on_the_clock = ("late", begin + 1.0, begin + 2.0, "run")
    assert pictures([row], **where) == [25, 37, 49]
    assert pictures([on_the_clock], unit="times", **where) == [25, 37, 49]
    vl.transcode(videos, tmp_path / "made", gop=16, workers=0)  # whose frames begin at 0
    assert pictures([row], root=tmp_path / "made") == [25, 37, 49]
    behind = ("late", 4.5, 5.5, "run")
    message = r"outside its video \(first row 0: 'late', 4\.5 to 5\.5, of 0 to 4 seconds\)"
    with pytest.raises(ArgumentError, match=message):
        vl.Segments(table([behind]), **where)
    message = rf"'late', 0\.01 to 0\.02, of {begin:g} to {begin + 4:g} times\)"
    with pytest.raises(ArgumentError, match=message):
        vl.Segments(table([("late", 0.01, 0.02, "run")]), unit="times", **where)


@pytest.mark.parametrize("seed", range(5))
def test_random_clips_stay_in_the_segment(root, seed):
    batch = load(vl.Segments(table(), root=root), vl.RandomClip(2, stride=3), seed=seed)
    for numbers, (start, stop) in zip(batch["frame_numbers"].tolist(), FRAMES, strict=True):
        assert start <= numbers[0] < numbers[1] == numbers[0] + 3 < stop


@pytest.mark.parametrize("mode", ["edge", "constant", "reflect_1001", "reflect_101", "wrap"])
@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_padding_is_at_the_ends_of_the_segment(root, how, mode):
    batch = load(vl.Segments(table(), root=root), vl.RandomClip(30), how, pad_mode=mode)
    for number, (start, stop) in enumerate(FRAMES):
        asked = np.arange(start, start + 30)
        if mode == "constant":
            expected = np.where(asked < stop, asked, -1)
        else:
            names = {"reflect_1001": "symmetric", "reflect_101": "reflect"}
            length = stop - start
            expected = np.pad(np.arange(start, stop), (0, 30 - length), mode=names.get(mode, mode))
        assert batch["frame_numbers"][number].tolist() == expected.tolist()
        assert batch["mask"][number].tolist() == (asked < stop).tolist()
        assert shown(batch["frames"][number]) == expected.tolist()


def test_a_clip_that_does_not_fit_is_an_error_without_padding(root):
    segments = vl.Segments(table(), root=root)
    with pytest.raises(vl.errors.FrameRangeError, match=r"range has frames \(10-29\)"):
        load(segments, vl.RandomClip(30), pad_mode="none")


def test_samplers_of_several_clips_cover_the_segment(root, index):
    segments = vl.Segments(table(), index)
    batch = load(segments, vl.DenseClips(10))
    assert [clips[:, 0].tolist() for clips in batch["frame_numbers"]] == [[10, 20], [], [75, 85]]
    batch = load(segments, vl.EvenClips(2, 5))
    assert batch["frame_numbers"][:, :, 0].tolist() == [[10, 25], [0, 0], [75, 95]]
    with vl.Loader(
        segments, vl.DenseClips(10), batch_size=8, clips_per_video="all", workers=0
    ) as loader:
        (batch,) = loader
    found = zip(batch["sample"].tolist(), batch["frame_numbers"][:, 0].tolist(), strict=True)
    assert sorted(found) == [(0, 10), (0, 20), (2, 75), (2, 85)]


@pytest.mark.parametrize("unit", ["frames", "seconds"])
def test_clips_at_a_rate_of_their_own_are_counted_in_the_segment(index, unit):
    rows = [(n, *limits, w) for (n, _, _, w), limits in zip(ROWS, FRAMES, strict=True)]
    segments = vl.Segments(table(rows if unit == "frames" else ROWS), index, unit=unit)
    clips = vl.DenseClips(5, fps=12.5)
    with vl.Loader(segments, clips, batch_size=9, clips_per_video="all", workers=0) as loader:
        (batch,) = loader
    assert sorted(batch["sample"].tolist()) == [0, 0, 2, 2]
    for row, numbers in zip(batch["sample"].tolist(), batch["frame_numbers"].tolist(), strict=True):
        assert FRAMES[row][0] <= numbers[0] < numbers[-1] < FRAMES[row][1]


def test_buckets_know_how_long_segments_are(index):
    shapes = vl.aspect_buckets(96 * 96, frames=(4, 16), multiple_of=16, ratios=(4 / 3,))
    batches = vl.Buckets(shapes, batch_size=2, on_unfit="skip")
    with vl.Loader(
        vl.Segments(table(), index), vl.UniformClip(4), batches=batches, workers=0
    ) as loader:
        lengths = {
            row: len(numbers)
            for batch in loader
            for row, numbers in zip(batch["sample"].tolist(), batch["frame_numbers"], strict=True)
        }
    assert lengths == {0: 16, 1: 4, 2: 16}


def test_keyframes_outside_the_segment_do_not_stand_for_its_frames(root, tmp_path):
    path = encode_video(tmp_path / "short_gops.mp4", frames=60, options={"g": "12"}, size=(128, 96))
    keyframes = vl.index_video(path).keyframes.tolist()
    assert keyframes == [0, 12, 24, 36, 48]
    rows = [(str(path), 20, 40, 0)]
    segments = vl.Segments(table(rows, ["path", "start", "end", "label"]), unit="frames")
    batch = load(segments, vl.UniformClip(3), snap="keyframe")
    assert batch["frame_numbers"].tolist() == [[24, 24, 36]]

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def clips(segments):
        return fn.readers.video(
            dataset=segments,
            sampler=vl.UniformClip(3),
            snap="keyframe",
            enable_frame_num="sequence",
        )

    with clips(segments) as pipe:
        frames, numbers = pipe.run()
    assert np.asarray(numbers[0]).tolist() == [24, 24, 36]
    assert [read_frame_number(frame) for frame in np.asarray(frames[0])] == [24, 24, 36]
    rows = [(str(path), 13, 20, 0)]
    segments = vl.Segments(table(rows, ["path", "start", "end", "label"]), unit="frames")
    with clips(segments) as pipe, pytest.raises(vl.VideoError, match="no frame is a keyframe"):
        pipe.run()
    with pytest.raises(ArgumentError, match="no frame is a keyframe"):
        load(segments, vl.UniformClip(3), snap="keyframe")


def test_it_is_silent_outside_the_segment(tmp_path):
    rate = 16000
    signal = make_signal(2.0, rate, 1)
    path = write_sound(tmp_path / "sound.mkv", signal, rate, "flac", with_video=True)
    segments = vl.Segments({"path": [str(path)], "start": [0.4], "end": [0.8]})
    batch = load(segments, vl.RandomClip(20), audio=True)  # 10 frames of the segment, 10 beside
    sound, half = batch["audio"][0, :, 0].numpy(), int(0.4 * rate)
    with vl.Video(path) as video:
        clip = video.get_frames(range(10, 20), audio=True)
    assert np.array_equal(sound[:half], clip.audio[:, 0].numpy())
    assert not sound[half:].any()
    assert len(sound) == 2 * half


def test_a_range_of_a_request_is_like_a_video_of_its_own(root):
    path = root / "part0" / "long.mp4"
    requests = [
        vl.ClipRequest(path, start=40, stop=43),
        vl.ClipRequest(path, range(38, 45), start=40, stop=43, pad_mode="edge"),
    ]
    batch = vl.decode_batch(requests, workers=0)
    assert batch.indices[0].tolist() == [40, 41, 42]
    assert batch.indices[1].tolist() == [40, 40, 40, 41, 42, 42, 42]
    assert batch.masks[1].tolist() == [False, False, True, True, True, False, False]
    with pytest.raises(vl.errors.FrameRangeError, match="frame 43"):
        vl.decode_batch([vl.ClipRequest(path, [43], start=40, stop=43)], workers=0)
    with pytest.raises(ArgumentError, match="outside the 100 frames"):
        vl.decode_batch([vl.ClipRequest(path, [43], start=40, stop=101)], workers=0)
    with pytest.raises(ArgumentError, match="stop"):
        vl.ClipRequest(path, [43], start=40, stop=39)


# Orders


def test_samples_are_the_same_on_any_rank_and_after_a_restart(root):
    segments = vl.Segments(table(ROWS * 3), root=root)

    def loader(**options):
        more = {"batch_size": 2, "shuffle": True, "seed": 3, "workers": 0, **options}
        return vl.Loader(segments, vl.RandomClip(4), remainder="keep", labels="label", **more)

    def found(batches):
        return {
            row: (numbers, label)
            for batch in batches
            for row, numbers, label in zip(
                batch["sample"].tolist(),
                batch["frame_numbers"].tolist(),
                batch["labels"].tolist(),
                strict=True,
            )
        }

    with loader() as whole:
        expected = found(whole)
    assert sorted(expected) == list(range(9))
    parts = {}
    for rank in range(2):
        with loader(rank=rank, num_ranks=2) as part:
            parts |= found(part)
    assert parts == expected
    with loader() as first:
        batches = iter(first)
        before = found([next(batches), next(batches)])
        state = first.state_dict()
    with loader(batch_size=5) as again:
        again.load_state_dict(state)
        assert before | found(again) == expected


def test_a_loader_of_torch_with_workers_gives_the_same(root):
    segments = vl.Segments(table(), root=root)
    data = vl.ClipDataset(segments, vl.RandomClip(3), labels="label")
    alone, beside = (
        next(iter(DataLoader(data, 3, sampler=vl.EpochSampler(data, seed=1), num_workers=count)))
        for count in (0, 1)
    )
    assert alone.keys() == beside.keys()
    assert all(torch.equal(alone[name], beside[name]) for name in alone)


@pytest.mark.parametrize("indexed", [False, True])
def test_segments_pickle(root, index, indexed):
    segments = vl.Segments(table(), **({"index": index} if indexed else {"root": root}))
    again = pickle.loads(pickle.dumps(segments))
    one, other = (load(each, vl.UniformClip(3), columns=["label"]) for each in (segments, again))
    assert torch.equal(one["frames"], other["frames"])
    assert one["label"] == other["label"] == ["run", "jump", "run"]


def test_weights_labels_and_columns_go_by_segment(root, index):
    words = pa.array(["a", "b", "c"])
    given = table().append_column("caption", words).append_column("score", pa.array([1, 2, 3]))
    where = index.join({"path": list(LENGTHS), "site": ["x", "y"]})
    segments = vl.Segments(given, where)
    columns = ["caption", "score", "site", "num_frames"]
    batch = load(segments, vl.UniformClip(2), columns=columns, labels=[5, 6, 7])
    assert batch["caption"] == ["a", "b", "c"]
    assert batch["score"].tolist() == [1, 2, 3]
    assert batch["site"] == ["x", "y", "x"]
    assert batch["num_frames"].tolist() == [100, 30, 100]
    assert batch["labels"].tolist() == [5, 6, 7]
    with vl.Loader(
        segments, vl.UniformClip(2), batch_size=3, weights=[0, 1, 0], workers=0
    ) as loader:
        (batch,) = loader
    assert batch["sample"].tolist() == [1, 1, 1]
    with pytest.raises(ArgumentError, match="no column 'capton'; it has video_id, start, end"):
        load(segments, vl.UniformClip(2), columns=["capton"])
    with pytest.raises(ArgumentError, match=r"labels='class'.*video_id, start, end, label"):
        load(segments, vl.UniformClip(2), labels="class")


@pytest.mark.parametrize("indexed", [False, True])
def test_segments_with_a_damaged_frame_are_skipped_and_others_of_the_video_are_not(
    root, index, tmp_path, indexed
):
    rows = [(n, *limits, w) for (n, _, _, w), limits in zip(ROWS, FRAMES, strict=True)]
    where = {"index": index} if indexed else {"root": root}
    segments = vl.Segments(table(rows), unit="frames", **where)
    log = tmp_path / "log.jsonl"
    facts = {"path": str(root / "part0" / "long.mp4"), "frames": [12, 30]}
    log.write_text(json.dumps(facts) + "\n")
    with vl.Loader(
        segments, vl.UniformClip(2), batch_size=9, skip_known=log, labels="label", workers=0
    ) as loader:
        (batch,) = loader
    assert batch["sample"].tolist() == [1, 2]
    assert batch["labels"].tolist() == [0, 1]


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("rate", [None, 12.5])
def test_a_reader_of_pipelines_takes_segments(root, index, indexed, rate):
    where = {"index": index} if indexed else {"root": root}
    segments = vl.Segments(table(), **where)

    @pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def clips():
        return fn.readers.video(
            dataset=segments,
            labels=segments.table["label"].to_pylist(),
            sampler=vl.DenseClips(5 if rate else 10, fps=rate),
            enable_frame_num="sequence",
            name="reader",
        )

    with clips() as pipe:
        (_, labels, numbers) = pipe.run()
        assert pipe.epoch_size("reader") == 4
    assert [int(np.asarray(label)[0]) for label in labels] == [1] * 4
    starts = [10, 19, 75, 84] if rate else [10, 20, 75, 85]  # spans of 9 and of 10 frames
    assert [int(np.asarray(each)[0]) for each in numbers] == starts


@pytest.mark.parametrize("on_error", ["raise", "skip", "mask"])
def test_a_segment_of_a_video_that_became_shorter_costs_a_reader_its_clips_alone(
    tmp_path, on_error
):
    paths = [str(tmp_path / "a.mp4"), str(tmp_path / "b.mp4")]
    for path in paths:
        encode_video(path, frames=20, size=(128, 96))
    rows = {"path": [*paths, paths[0]], "start": [10, 4, 0], "end": [14, 8, 4]}
    segments = vl.Segments(rows, unit="frames")
    encode_video(paths[0], frames=6, size=(128, 96))

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def clips():
        return fn.readers.video(
            dataset=segments,
            sampler=vl.DenseClips(4),
            enable_frame_num="sequence",
            on_error=on_error,
        )

    if on_error == "raise":
        with pytest.raises(vl.errors.FrameRangeError, match=r"a\.mp4: .* from 10 to 14 .*row 0"):
            clips().build()
        return
    with clips() as pipe:
        _, numbers = pipe.run()
    assert [np.asarray(each).tolist() for each in numbers] == [[4, 5, 6, 7], [0, 1, 2, 3]]


# Tables


def write_jsonl(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in table().to_pylist()))


WRITERS = {
    "a.csv": lambda path: pd.DataFrame(table().to_pandas()).to_csv(path, index=False),
    "a.jsonl": write_jsonl,
    "lines.json": write_jsonl,
    "rows.json": lambda path: path.write_text(json.dumps(table().to_pylist())),
    "columns.json": lambda path: path.write_text(json.dumps(table().to_pydict())),
    "a.parquet": lambda path: pq.write_table(table(), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_tables_come_from_files(root, tmp_path, name):
    WRITERS[name](tmp_path / name)
    segments = vl.Segments(tmp_path / name, root=root)
    batch = load(segments, vl.UniformClip(2), labels="label")
    assert batch["frame_numbers"].tolist() == [[a, b - 1] for a, b in FRAMES]
    assert batch["labels"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("make", [pl.from_arrow, pa.Table.to_pandas, pa.Table.to_pydict])
def test_tables_come_from_memory(root, make):
    segments = vl.Segments(make(table()), root=root)
    batch = load(segments, vl.UniformClip(2))
    assert batch["frame_numbers"].tolist() == [[a, b - 1] for a, b in FRAMES]


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]", '[{"a": 1}', "{"])
def test_a_json_file_that_is_no_table_says_so(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FormatError, match=r"a\.json: no table"):
        vl.Segments(tmp_path / "a.json")


def test_ids_of_digits_keep_their_zeros(tmp_path):
    (tmp_path / "v").mkdir()
    encode_video(tmp_path / "v" / "007.mp4", frames=10, size=(128, 96))
    (tmp_path / "a.csv").write_text("video_id,start,end\n007,2,5\n")
    segments = vl.Segments(tmp_path / "a.csv", root=tmp_path / "v", unit="frames")
    assert load(segments, vl.UniformClip(2))["frame_numbers"].tolist() == [[2, 4]]


def test_a_table_without_root_has_paths(root):
    paths = [str(root / "part0" / "long.mp4"), str(root / "part1" / "short.mp4")]
    segments = vl.Segments({"path": paths, "start": [0.4, None], "end": [1.2, None]})
    batch = load(segments, vl.UniformClip(2))
    assert batch["frame_numbers"].tolist() == [[10, 29], [0, 29]]


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (["youtube_id", "time_start", "time_end", "label"], {}),
        (["Path", "start_seconds", "end_seconds", "label"], {}),
        (["key", "start", "end", "path_of_label"], {}),
        (["clip", "a", "b", "label"], {"video": "clip", "start": "a", "end": "b"}),
    ],
)
def test_columns_are_found_by_their_usual_names_or_given(root, names, given):
    segments = vl.Segments(table(names=names), root=root, **given)
    assert len(segments) == 3


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (["clip", "start", "end", "label"], {}, "no column .* video.* clip, start, end, label"),
        (["path", "start", "end", "video_id"], {}, "path and video_id may be the one of videos"),
        (["path", "start", "end", "label"], {"end": "stop"}, "no column 'stop'; it has path, st"),
    ],
)
def test_columns_that_cannot_be_found_are_an_error_that_names_those_there_are(
    root, names, given, message
):
    with pytest.raises(ArgumentError, match=message):
        vl.Segments(table(names=names), root=root, **given)


times = st.tuples(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59999))


@given(st.lists(times, min_size=1), st.booleans())
def test_text_is_read_as_a_clock(parts, short):
    hours = [0 if short else h for h, _, _ in parts]
    texts = [
        ("" if short else f"{h:02d}:") + f"{m:02d}:{ms // 1000:02d}.{ms % 1000:03d}"
        for h, (_, m, ms) in zip(hours, parts, strict=True)
    ]
    expected = [h * 3600 + m * 60 + ms / 1000 for h, (_, m, ms) in zip(hours, parts, strict=True)]
    assert np.allclose(as_seconds(pa.chunked_array([texts]), "start"), expected)


@pytest.mark.parametrize(
    "values",
    [
        ["1:02:03.5", "12"],
        ["1:02:03,500", "00:12"],
        pa.array([3723500, 12000], pa.time32("ms")),
        pa.array([3723500, 12000], pa.duration("ms")),
        pa.array([3723.5, 12.0]).cast(pa.decimal128(10, 2)),
    ],
)
def test_times_have_many_forms(values):
    assert as_seconds(pa.chunked_array([values]), "start").tolist() == [3723.5, 12.0]


@pytest.mark.parametrize(
    ("start", "unit", "message"),
    [
        (["1:xx", "2"], "seconds", "'1:xx' in row 0, which is no time"),
        (["-1", "2"], "seconds", "'-1' in row 0, which is no time"),
        ([[1], [2]], "seconds", "it must have numbers"),
        ([0.5, 2.0], "frames", "0.5 in row 0, which is no frame number"),
    ],
)
def test_what_is_no_time_is_an_error_that_names_the_row(root, start, unit, message):
    given = {"video": ["long", "long"], "start": start, "end": [20, 20]}
    with pytest.raises(ArgumentError, match=message):
        vl.Segments(given, root=root, unit=unit)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start": lambda _: 10**30, "end": "end"}, "start= gave values that are no times"),
        ({"video": lambda _: "\udcff"}, "video= gave names that are no text"),
    ],
)
def test_what_a_function_gives_and_arrow_cannot_hold_is_an_error(root, given, message):
    with pytest.raises(ArgumentError, match=message):
        vl.Segments(table(), root=root, **given)


def test_csv_has_times_as_a_clock(root, tmp_path):
    (tmp_path / "a.csv").write_text(
        "video,start,end\nlong,00:00:00.400,00:00:01.200\nlong,00:00:03,00:00:09\n"
    )
    segments = vl.Segments(tmp_path / "a.csv", root=root)
    batch = load(segments, vl.UniformClip(2))
    assert batch["frame_numbers"].tolist() == [[10, 29], [75, 99]]


@pytest.mark.parametrize("how", ["column", "function"])
def test_minutes_and_seconds_in_csv_are_no_hours(root, tmp_path, how):
    (tmp_path / "a.csv").write_text("video,start,end,at\nlong,00:01,00:03,12:30\n")
    given = {"start": lambda row: row["start"]} if how == "function" else {}
    segments = vl.Segments(tmp_path / "a.csv", root=root, **given)
    batch = load(segments, vl.UniformClip(2), columns=["at"])
    assert batch["frame_numbers"].tolist() == [[25, 74]]
    assert batch["at"] == ["12:30"]


def test_an_empty_cell_beside_times_as_text_is_no_value(root, tmp_path):
    (tmp_path / "a.csv").write_text("video,start,end\nlong,0:00:03.2,\nlong, ,0:00:01.0\n")
    segments = vl.Segments(tmp_path / "a.csv", root=root)
    batch = load(segments, vl.UniformClip(2))
    assert batch["frame_numbers"].tolist() == [[80, 99], [0, 24]]


# What cannot be used

BAD = [
    *ROWS,
    ("nowhere", 0.0, 1.0, "run"),
    ("long", 2.0, 2.0, "run"),
    ("long", 3.0, 2.0, "run"),
    ("short", 1.2, 3.0, "run"),  # the video has 1.2 s
    ("nowhere", 0.0, 1.0, "run"),
]


@pytest.mark.parametrize("unit", ["seconds", "frames"])
@pytest.mark.parametrize("indexed", [False, True])
def test_segments_without_frames_are_counted_at_once(root, index, caplog, indexed, unit):
    where = {"index": index} if indexed else {"root": root}
    rows = [(n, round(a * FPS), round(b * FPS), w) for n, a, b, w in BAD]
    given = table(BAD if unit == "seconds" else rows)
    with pytest.raises(ArgumentError) as caught:
        vl.Segments(given, unit=unit, **where)
    text = str(caught.value)
    assert "the table: 5 of 8 segments have no frames" in text
    assert "2 of a video that is not there (first row 3: 'nowhere'" in text
    assert "2 empty or reversed (first row 4: 'long'" in text
    assert "1 outside its video (first row 6: 'short'" in text
    assert 'on_missing="skip"' in text
    segments = vl.Segments(given, unit=unit, on_missing="skip", **where)
    assert "5 of 8 segments" in caplog.text
    assert len(segments) == 3
    assert segments.skipped["row"].to_pylist() == [3, 4, 5, 6, 7]
    assert segments.skipped["reason"].to_pylist()[0] == "of a video that is not there"
    assert load(segments, vl.UniformClip(2))["sample"].tolist() == [0, 1, 2]


def test_files_that_cannot_be_read_are_counted_at_once(root, tmp_path):
    (tmp_path / "bad.mp4").write_bytes(b"no video" * 99)
    paths = [str(root / "part0" / "long.mp4"), str(tmp_path / "bad.mp4"), str(tmp_path / "no.mp4")]
    given = {"path": paths, "start": [0, 0, 0], "end": [1, 1, 1]}
    with pytest.raises(ArgumentError, match=r"2 of a video that cannot be read \(first row 1"):
        vl.Segments(given)
    with pytest.raises(ArgumentError, match=r"such as .*(bad|no)\.mp4: .*; root= is the folder"):
        vl.Segments(given)
    assert len(vl.Segments(given, on_missing="skip")) == 1


def test_nothing_left_is_an_error_also_where_rows_may_be_skipped(root):
    given = {"video": ["nowhere"], "start": [0], "end": [1]}
    with pytest.raises(ArgumentError, match="none is left"):
        vl.Segments(given, root=root, on_missing="skip")
    with pytest.raises(ArgumentError, match="has no rows"):
        vl.Segments(table().slice(0, 0), root=root)


def test_segments_that_end_behind_their_video_end_with_it_and_are_told(root, caplog):
    segments = vl.Segments(table(), root=root)
    assert "the table: 1 of 3 segments end behind their video" in caplog.text
    assert len(segments.skipped) == 0


@pytest.mark.parametrize("indexed", [False, True])
def test_a_video_may_have_several_names(root, index, indexed):
    where = {"index": index} if indexed else {"root": root}
    names = ["long", "part0/long.mp4", "long.mp4", str(root / "part0" / "long"), None]
    given = {"video": names, "start": [1] * 5, "end": [2] * 5}
    segments = vl.Segments(given, on_missing="skip", **where)
    assert segments.skipped["row"].to_pylist() == [4]
    assert load(segments, vl.UniformClip(2))["frame_numbers"].tolist() == [[25, 49]] * 4


def test_a_name_of_two_videos_is_an_error(root, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "long.mp4").symlink_to(root / "part0" / "long.mp4")
    with pytest.raises(ArgumentError, match=r"'long' stands for .*; .* a function as video="):
        vl.Segments(table(ROWS[:1]), root=tmp_path)


def test_indexes_of_listed_videos_are_refused(root):
    indexes = {"a.mp4": vl.index_video(root / "part0" / "long.mp4")}
    with pytest.raises(ArgumentError, match="give Segments a data set index"):
        vl.ClipDataset(vl.Segments(table(), root=root), vl.UniformClip(2), indexes=indexes)


@given(st.lists(st.tuples(st.integers(-5, 110), st.integers(1, 40)), min_size=1, max_size=20))
def test_ranges_of_many_times_are_those_of_each(limits):
    video = SimpleNamespace(
        time_base=Fraction(1, FPS), boundaries=np.arange(101) / FPS, order_in_time=None
    )
    begins = np.array([begin / 10 for begin, _ in limits])
    ends = begins + [length / 10 for _, length in limits]
    firsts, stops = ranges_between(begins, ends, video)
    for begin, end, first, stop in zip(begins, ends, firsts, stops, strict=True):
        if first == stop:
            with pytest.raises(vl.errors.FrameRangeError):
                frames_between(begin, end, video)
        else:
            inside = np.arange(100) / FPS
            on_screen = (inside + 1 / FPS > begin + 1e-4) & (inside < end - 1e-4)
            assert np.flatnonzero(on_screen).tolist() == list(range(first, stop))


def test_a_dictionary_of_columns_may_have_paths(root):
    path = next(root.rglob("*.mp4"))
    segments = vl.Segments({"video": [path], "start": [0], "end": [0.2]})
    assert segments.paths() == [str(path)]
