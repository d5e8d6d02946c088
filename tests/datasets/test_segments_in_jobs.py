"""Jobs over parts of videos: what they give for each, what they resume, what they refuse."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from audio_files import make_signal, write_sound

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.dataset.journal import Journal

pytestmark = pytest.mark.usefixtures("forked_workers")

FPS = 25
ROWS = {
    "video": ["long", "short", "long"],
    "start": [10, 0, 75],
    "end": [30, 5, 90],
    "label": ["run", "jump", "run"],
}
FRAMES = [(10, 30), (0, 5), (75, 90)]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs") / "videos"
    for name, length in (("a/long.mp4", 100), ("b/short.mp4", 30)):
        (folder / name).parent.mkdir(parents=True)
        encode_video(folder / name, frames=length, fps=FPS, size=(128, 96))
    return folder


@pytest.fixture(scope="module")
def index(root):
    with vl.index_dataset(root, out=root.parent / "set.parquet", workers=0) as dataset:
        yield dataset


@pytest.fixture(params=["listed", "indexed"])
def segments(request, root, index):
    where = {"index": index} if request.param == "indexed" else {"root": root}
    return vl.Segments(ROWS, unit="frames", **where)


def shown(clip):
    return {"shown": [read_frame_number(frame) for frame in clip.frames.numpy()]}


# map_clips


def test_a_function_is_called_for_the_clips_of_each_segment(segments, tmp_path):
    table = vl.map_clips(
        segments, shown, tmp_path / "out.parquet", clips=vl.EvenClips(2, 3), workers=0
    )
    assert table["row"].to_pylist() == [0, 0, 1, 1, 2, 2]
    assert table["clip"].to_pylist() == [0, 1] * 3
    keys = [key.rpartition("/")[2] for key in table["key"].to_pylist()]
    assert keys == ["long.mp4"] * 2 + ["short.mp4"] * 2 + ["long.mp4"] * 2
    first = [10, 27, 0, 2, 75, 87]
    assert table["frames"].to_pylist() == [[each, each + 1, each + 2] for each in first]
    assert table["shown"].to_pylist() == table["frames"].to_pylist()


def test_clips_are_padded_at_the_ends_of_segments(segments, tmp_path):
    def numbers(clip):
        return {"mask": clip.mask.tolist(), **shown(clip)}

    table = vl.map_clips(
        segments, numbers, tmp_path / "o.parquet", clips=vl.UniformClip(3), workers=0
    )
    assert table["frames"].to_pylist() == [[10, 20, 29], [0, 2, 4], [75, 82, 89]]
    table = vl.map_clips(
        segments,
        numbers,
        tmp_path / "o.parquet",
        clips=vl.RandomClip(7),
        pad_mode="edge",
        workers=0,
        seed=4,
    )
    padded = table.to_pylist()[1]
    assert padded["frames"] == padded["shown"] == [0, 1, 2, 3, 4, 4, 4]
    assert padded["mask"] == [True] * 5 + [False] * 2


def test_random_clips_are_drawn_by_the_row_of_the_table(index, tmp_path):
    many = {name: values * 4 for name, values in ROWS.items()}
    clips = {"clips": vl.RandomClip(2), "workers": 0, "seed": 9}
    every = vl.Segments(many, index, unit="frames")
    one = vl.map_clips(every, shown, tmp_path / "a.parquet", **clips)
    part = vl.map_clips(every.take(np.array([3, 9])), shown, tmp_path / "b.parquet", **clips)
    assert part["row"].to_pylist() == [3, 9]
    assert part["frames"].to_pylist() == one.take([3, 9])["frames"].to_pylist()
    assert len({tuple(frames) for frames in one["frames"].to_pylist()[::3]}) > 1
    halves = [
        vl.map_clips(every, shown, tmp_path / f"{i}.parquet", shard=(i, 2), **clips)
        for i in range(2)
    ]
    both = [row for half in halves for row in half.to_pylist()]
    assert both == one.to_pylist()


def test_workers_give_the_same(segments, tmp_path):
    tables = [
        vl.map_clips(
            segments, shown, tmp_path / "o.parquet", clips=vl.RandomClip(3), workers=workers
        )
        for workers in (0, 2)
    ]
    assert tables[0].equals(tables[1])


def test_a_segment_that_fails_has_a_row_with_its_error(root, tmp_path):
    def fail(clip):
        if clip.indices[0] >= 75:
            raise ValueError("no")
        return {"x": 1}

    segments = vl.Segments(ROWS, root=root, unit="frames")
    table = vl.map_clips(segments, fail, tmp_path / "o.parquet", clips=vl.UniformClip(2), workers=0)
    assert table["row"].to_pylist() == [0, 1, 2]
    assert table["x"].to_pylist() == [1, 1, None]
    assert "ValueError: no" in table["error"].to_pylist()[2]


@pytest.fixture
def interrupted():
    """First frames of the clips that a function was called with, and it; the third call ends."""
    called = []

    def note(clip):
        called.append(int(clip.indices[0]))
        if len(called) == 3:
            raise KeyboardInterrupt
        return {"x": 1}

    return called, note


def test_a_job_goes_on_with_the_segments_that_are_left(segments, interrupted, tmp_path):
    called, note = interrupted

    def run():
        clips = {"clips": vl.UniformClip(2), "workers": 0}
        return vl.map_clips(segments, note, tmp_path / "o.parquet", **clips)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert called == [10, 0, 75]
    assert run()["row"].to_pylist() == [0, 1, 2]
    assert called == [10, 0, 75, 75]


def test_a_result_of_another_time_of_the_same_row_does_not_count(root, interrupted, tmp_path):
    called, note = interrupted

    def run(rows):
        segments = vl.Segments(rows, root=root, unit="frames")
        clips = {"clips": vl.UniformClip(2), "workers": 0}
        vl.map_clips(segments, note, tmp_path / "o.parquet", **clips)

    with pytest.raises(KeyboardInterrupt):
        run(ROWS)
    run(ROWS | {"start": [10, 1, 75]})
    assert called == [10, 0, 75, 1, 75]


def test_what_is_there_is_kept_if_the_segments_are_the_same(root, tmp_path):
    called = []

    def note(clip):
        called.append(int(clip.indices[0]))
        return {"x": 1}

    for start in (10, 10, 11):
        segments = vl.Segments(ROWS | {"start": [start, 0, 75]}, root=root, unit="frames")
        vl.map_clips(
            segments, note, tmp_path / "o.parquet", clips=vl.UniformClip(2), workers=0, keep=True
        )
    assert called == [10, 0, 75, 11, 0, 75]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (lambda s, out: vl.map_clips(s, vl.score_video, out), r"clips=.*transcode\(segments, "),
        (lambda s, out: vl.find_duplicates(s, out), r"whole videos.*transcode\(segments, "),
        (
            lambda s, out: vl.datasets.hash_videos(s, out, shard=(0, 1)),
            r"whole videos.*transcode\(segments, ",
        ),
    ],
)
def test_jobs_over_whole_videos_say_what_makes_files_of_segments(segments, tmp_path, job, message):
    with pytest.raises(ArgumentError, match=message):
        job(segments, tmp_path / "out.parquet")


def test_functions_over_videos_say_what_segments_have(segments, tmp_path):
    with pytest.raises(ArgumentTypeError, match=r"segments\.paths\(\) .* transcode\(segments, "):
        vl.index_dataset(segments, tmp_path / "set.parquet")
    with pytest.raises(ArgumentTypeError, match=r"segments\.paths\(\)"):
        vl.Loader([segments], vl.RandomClip(2), batch_size=2)


# transcode


def transcode(source, out, **options):
    settings = {"gop": 5, "options": {"preset": "ultrafast"}, "workers": 0, **options}
    return vl.transcode(source, out, **settings)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_each_segment_becomes_a_file(segments, tmp_path):
    made = transcode(segments, tmp_path / "out")
    assert (made.written, made.kept, made.failures) == (3, 0, ())
    names = ["a/long_000000.mp4", "a/long_000002.mp4", "b/short_000001.mp4"]
    assert files(made.out) == [*names, "transcode.journal"]
    for name in names:
        start, stop = FRAMES[int(name[-5])]
        with vl.Video(made.out / name) as video:
            assert [read_frame_number(frame) for frame in video] == list(range(start, stop))
            assert video.index.boundaries[0] == 0
            assert video.index.boundaries[-1] == pytest.approx((stop - start) / FPS, abs=1e-3)
    sources = {path: Path(path).stat().st_size for path in segments.paths()}
    assert made.bytes_before == sum(sources.values())


def test_the_files_are_samples_by_the_same_table(root, tmp_path):
    segments = vl.Segments(ROWS, root=root, unit="frames")
    made = transcode(segments, tmp_path / "out")
    rows = ROWS | {"row": [0, 1, 2]}
    name = "{video}_{row:06d}"
    files = vl.Segments(rows, root=made.out, video=name, whole_videos=True)
    with vl.Loader(files, vl.UniformClip(2), batch_size=3, labels="label", workers=0) as loader:
        (batch,) = loader
    assert batch["frame_numbers"].tolist() == [[0, 19], [0, 4], [0, 14]]
    assert batch["labels"].tolist() == [1, 0, 1]


def test_sound_is_that_of_the_segment(tmp_path):
    rate = 16000
    signal = make_signal(2.0, rate, 1)
    path = write_sound(tmp_path / "sound.mkv", signal, rate, "flac", with_video=True)
    segments = vl.Segments({"path": [str(path)], "start": [0.4], "end": [0.8]})
    made = transcode(segments, tmp_path / "out", suffix=".mkv")
    (name,) = (name for name in files(made.out) if name.endswith(".mkv"))
    with vl.Audio(made.out / name) as audio:
        assert audio.duration == pytest.approx(0.4, abs=0.05)


def test_only_what_changed_is_transcoded_again(root, tmp_path):
    def run(rows):
        made = transcode(vl.Segments(rows, root=root, unit="frames"), tmp_path / "out")
        return made.written, made.kept

    assert run(ROWS) == (3, 0)
    assert run(ROWS) == (0, 3)
    assert run(ROWS | {"start": [10, 1, 75]}) == (1, 2)
    with vl.Video(tmp_path / "out" / "b" / "short_000001.mp4") as video:
        assert [read_frame_number(frame) for frame in video] == [1, 2, 3, 4]


def test_a_whole_video_beside_segments_of_it_has_a_journal_row_of_its_own(root, tmp_path):
    segments = vl.Segments(ROWS, root=root, unit="frames")
    transcode(segments, tmp_path / "out")
    assert transcode([segments.item(0), segments.item(1)], tmp_path / "out").written == 2
    again = transcode(segments, tmp_path / "out")
    assert (again.written, again.kept) == (0, 3)
    with Journal(tmp_path / "out" / "transcode.journal") as journal:
        assert journal.get(segments.item(0)).part is None
        assert [journal.get(segments.item(0), row).part for row in (0, 2)] == [0, 2]
        assert journal.get(segments.item(0), 1) is None


def test_segments_in_archives(segments, tmp_path):
    made = transcode(segments, tmp_path / "out", videos_per_shard=2)
    assert files(made.out) == ["000000.tar", "000001.tar", "transcode.journal"]
    frames = []
    for shard in ("000000.tar", "000001.tar"):
        with tarfile.open(made.out / shard) as tar:
            names = [name for name in tar.getnames() if name.endswith(".json")]
            frames += [json.load(tar.extractfile(name))["frames"] for name in names]
    assert frames == [[*each] for each in FRAMES]
    assert transcode(segments, tmp_path / "out", videos_per_shard=2).kept == 3


def test_episodes_of_lerobot_are_segments(segments, tmp_path):
    made = transcode(segments, tmp_path / "out", lerobot="observation.images.top")
    assert made.failures == ()
    episodes = pq.read_table(made.out / "meta/episodes")
    assert episodes["length"].to_pylist() == [20, 5, 15]


def test_segments_are_transcoded_in_processes(segments, tmp_path):
    made = transcode(segments, tmp_path / "out", workers=2)
    assert (made.written, made.failures) == (3, ())


def test_gains_are_predicted_for_whole_videos_alone(segments, tmp_path):
    with pytest.raises(ArgumentError, match="sampler= is for whole videos"):
        transcode(segments, tmp_path / "out", sampler=vl.RandomClip(4))
