"""What `fn.readers.video` reads: lists, data set indexes, archives; and what a video costs it."""

import shutil
import tarfile
import tracemalloc

import pytest
from object_server import serve

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.demo.videos import read_frame_number
from videoloader.sampling import DenseClips, RandomClip, UniformClip
from videoloader.sources.items import Item

NAMES = ["h264.mp4", "hevc.mp4", "vp9.webm"]
FRAMES = {"h264.mp4": 90, "hevc.mp4": 75, "vp9.webm": 75}


@pytest.fixture
def paths(demo_folder):
    return [demo_folder / name for name in NAMES]


def pipeline(batch_size=3, **arguments):
    arguments = {"name": "Reader", "enable_frame_num": "sequence"} | arguments
    return pipeline_def(lambda: fn.readers.video(**arguments))(
        batch_size=batch_size, num_threads=1, seed=5
    )


def read(batch_size=3, **arguments):
    """The outputs of the first batch, pictures as the numbers that they bear."""
    with pipeline(batch_size, **arguments) as pipe:
        clips, *others, numbers = pipe.run()
        pictures = [[read_frame_number(frame.numpy()) for frame in clip] for clip in clips]
        assert pictures == [each.tolist() for each in numbers]
        return pictures, *([each.item() for each in output] for output in others)


def archive(paths, folder):
    place = folder / "shard.tar"
    with tarfile.open(place, "w") as tar:
        for path in paths:
            tar.add(path, path.name)
    return place


@pytest.mark.parametrize("kind", ["index", "path", "folder", "glob", "list", "tar", "items"])
@pytest.mark.parametrize("sampler", [UniformClip(4), DenseClips(4, step=60)])
def test_a_data_set_may_be_named_in_any_way(paths, tmp_path, kind, sampler):
    videos = tmp_path / "videos"
    videos.mkdir()
    for path in paths:
        shutil.copy(path, videos)
    if kind == "index":
        given = vl.index_dataset(videos, tmp_path / "set.parquet", workers=0)
    elif kind == "path":
        vl.index_dataset(videos, tmp_path / "set.parquet", workers=0)
        given = tmp_path / "set.parquet"
    else:
        given = {
            "folder": videos,
            "glob": str(videos / "*"),
            "list": sorted(videos.iterdir()),
            "tar": archive(paths, tmp_path),
            "items": [Item(str(path)) for path in paths],
        }[kind]
    clips, labels = read(dataset=given, labels=[], sampler=sampler)
    if isinstance(sampler, DenseClips):
        assert clips == [[0, 1, 2, 3], [60, 61, 62, 63], [0, 1, 2, 3]]
        assert labels == [0, 0, 1]
    else:
        assert clips == [sampler.frames(FRAMES[name]).tolist() for name in NAMES]
        assert labels == [0, 1, 2]


def test_items_and_urls_are_files_too(paths, tmp_path, monkeypatch, demo_folder):
    member = vl.index_dataset(archive(paths, tmp_path), tmp_path / "set.parquet", workers=0).item(1)
    clips, labels = read(
        filenames=[paths[0], member, paths[2].as_uri()],
        labels=[7, 8, 9],
        uniform_sample=True,
        sequence_length=2,
    )
    assert (clips, labels) == ([[0, 89], [0, 74], [0, 74]], [7, 8, 9])


def test_videos_behind_urls_are_read(paths, monkeypatch):
    pytest.importorskip("obstore")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serve(objects={f"/{path.name}": path.read_bytes() for path in paths}) as server:
        urls = [f"{server.url}/{name}" for name in NAMES]
        clips = [[0, 1], [80, 81], [0, 1]]
        assert read(dataset=urls, sequence_length=2, step=80)[0] == clips
        assert read(filenames=urls, sequence_length=2, step=80)[0] == clips


def test_the_rows_of_a_data_set_that_failed_are_left_out(paths, tmp_path):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"no video")
    dataset = vl.index_dataset([paths[0], bad, *paths[1:]], tmp_path / "set.parquet", workers=0)
    for rule in ({"sequence_length": 50}, {"uniform_sample": True, "sequence_length": 2}):
        assert read(dataset=dataset, labels=[5, 6, 7, 8], **rule)[1] == [5, 7, 8]


def test_labels_go_by_the_key_of_a_video(paths, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("file,class,id\nhevc.mp4,run,4\nvp9.webm,walk,5\nh264.mp4,jump,6\n")
    rule = {"sequence_length": 2, "uniform_sample": True}
    by_name = {str(path): 3 + number for number, path in enumerate(paths)}
    for labels, expected in (
        (by_name, [3, 4, 5]),
        (by_name.get, [3, 4, 5]),
        (vl.LabelColumn(table, "id", "file"), [6, 4, 5]),
        (vl.LabelColumn(table, "class", "file"), [0, 1, 2]),
    ):
        assert read(filenames=paths, labels=labels, **rule)[1] == expected
        assert read(dataset=paths, labels=labels, **rule)[1] == expected
    with pytest.raises(vl.errors.ArgumentError, match="file_root has labels of its own"):
        pipeline(file_root=tmp_path, labels=by_name, **rule)


@pytest.mark.parametrize("sampler", [RandomClip(4), UniformClip(4)])
def test_one_clip_a_video_needs_no_look_at_the_videos(videos, sampler):
    names = [f"{number}.mp4" for number in range(1000)]
    with pipeline(filenames=names, sampler=sampler) as pipe:
        pipe.build()
        assert pipe.epoch_size("Reader") == 1000
        assert not videos.opened
        pipe.run()
    assert not videos.indexed


def test_a_data_set_index_gives_lengths_without_a_look_at_the_videos(paths, tmp_path, videos):
    dataset = vl.index_dataset(paths, tmp_path / "set.parquet", workers=0)
    with pipeline(dataset=dataset, sequence_length=20) as pipe:
        assert pipe.epoch_size("Reader") == 4 + 3 + 3
    with pipeline(dataset=dataset, sampler=DenseClips(10, fps=5.0)) as pipe:
        assert pipe.epoch_size("Reader") > 1
    assert not videos.indexed


@pytest.mark.parametrize(
    "rule",
    [{"sequence_length": 4}, {"sequence_length": 4, "step": 1}, {"sampler": RandomClip(4)}],
)
def test_a_video_costs_a_reader_a_few_hundred_bytes(videos, rule):
    names = [f"/data/set/class/{number:08d}.mp4" for number in range(3000)]
    videos.length = 300
    with pipeline(filenames=names[:1], **rule) as pipe:
        pipe.build()  # so that what is loaded once does not count
    videos.indexed.clear()
    tracemalloc.start()
    try:
        with pipeline(filenames=names, **rule) as pipe:
            pipe.build()
            videos.indexed.clear()
            used, _ = tracemalloc.get_traced_memory()
            assert used / len(names) < 400
    finally:
        tracemalloc.stop()


def test_indexes_of_listed_files_are_kept_in_few_bytes(paths, monkeypatch):
    from videoloader.dali.readers.video import scopes

    def kept_bytes(paths):
        with pipeline(filenames=paths, sequence_length=4) as pipe:
            pipe.build()
            return pipe._run.program.sources["Reader"].scopes.kept.packed_bytes

    assert kept_bytes(paths * 3) == kept_bytes(paths) < 10_000
    monkeypatch.setattr(scopes, "KEPT_BYTES", kept_bytes(paths) // 3)
    clips = read(9, filenames=paths * 3, sequence_length=4, step=80)[0]
    assert clips == [[0, 1, 2, 3], [80, 81, 82, 83], [0, 1, 2, 3], [0, 1, 2, 3]] * 2 + [
        [0, 1, 2, 3]
    ]


def test_a_file_that_has_become_another_is_an_error(paths, tmp_path):
    path = tmp_path / "clip.mp4"
    shutil.copy(paths[0], path)
    with pipeline(1, filenames=[path], sequence_length=4) as pipe:
        pipe.build()
        shutil.copy(paths[1], path)
        with pytest.raises(vl.errors.OperatorError, match=r"clip\.mp4") as caught:
            pipe.run()
    assert isinstance(caught.value.__cause__, vl.errors.StaleIndexError)


def test_shards_of_a_data_set_index_are_the_whole(paths, tmp_path):
    dataset = vl.index_dataset(paths, tmp_path / "set.parquet", workers=0)
    seen = []
    for shard in range(2):
        arguments = {"shard_id": shard, "num_shards": 2, "random_shuffle": True}
        with pipeline(1, dataset=dataset, labels=[], sequence_length=20, **arguments) as pipe:
            for _ in range(5):
                _, labels, numbers = pipe.run()
                seen.append((labels[0].item(), numbers[0][0].item()))
    assert sorted(seen) == [
        (label, first)
        for label, name in enumerate(NAMES)
        for first in range(0, FRAMES[name] - 19, 20)
    ]
