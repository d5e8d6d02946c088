"""`map_clips`: columns of a function over the clips of a data set, in order, whatever happens."""

import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from programs import run_program

import videoloader as vl
from videoloader.datasets import mapping
from videoloader.demo.videos import encode_video, read_frame_number

pytestmark = pytest.mark.usefixtures("forked_workers")

BAD = 2  # of the videos: in the index as a failure
GONE = 4  # removed after it was indexed


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Videos of 4, 5, ... frames; one that is no video, and one that is not there any more."""
    folder = tmp_path_factory.mktemp("mapped") / "videos"
    folder.mkdir()
    for number in range(6):
        encode_video(folder / f"{number}.mp4", frames=4 + number, size=(64, 64))
    (folder / f"{BAD}.mp4").write_bytes(b"no video")
    made = vl.index_dataset(folder, folder.parent / "set.parquet", 0, root=folder)
    (folder / f"{GONE}.mp4").unlink()
    return made


def count_frames(video):
    return {"frames": len(video), "codec": video.index.codec}


def mean_of(clip):
    return clip.frames.float().mean(dim=(1, 2)), int(clip.indices[-1])


def mapped(part, out, **options):
    return vl.map_clips(part, mean_of, out, **options)


class Range(NamedTuple):
    start: int
    stop: int


def halves(video):
    return [Range(0, len(video) // 2), Range(len(video) // 2, len(video))]


def test_a_row_for_each_row_of_the_index_says_what_the_function_returned_or_the_error(
    dataset, tmp_path
):
    out = tmp_path / "out.parquet"
    told = []
    table = vl.map_clips(
        dataset, count_frames, out, workers=0, progress=lambda *at: told.append(at)
    )
    assert table.equals(pq.read_table(out))
    rows = table.to_pylist()
    assert [row["row"] for row in rows] == list(range(6))
    assert [row["key"] for row in rows] == dataset.keys
    failed = [BAD, GONE]
    for row in rows:
        number = row["row"]
        assert row["frames"] == (None if number in failed else 4 + number)
        assert (row["error"] is None) == (number not in failed)
    assert rows[BAD]["error_kind"] == "FormatError"
    assert rows[GONE]["error_kind"] == "SourceError"
    assert "4.mp4" in rows[GONE]["error"]
    assert told[-1] == (6, 6, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_clips_of_a_sampler_are_those_that_the_decoder_gives(dataset, tmp_path):
    videos = dataset.filter(max_frames=5)
    table = vl.map_clips(
        videos,
        lambda clip: {"numbers": [read_frame_number(frame) for frame in clip.frames.numpy()]},
        tmp_path / "out.parquet",
        clips=vl.DenseClips(2),
        workers=0,
    )
    assert table["clip"].to_pylist() == [0, 1, 0, 1]
    assert table["row"].to_pylist() == [0, 0, 1, 1]
    assert table["frames"].to_pylist() == [[0, 1], [2, 3]] * 2
    assert table["numbers"].to_pylist() == table["frames"].to_pylist()


def test_worker_processes_give_the_same_file(dataset, tmp_path):
    options = {"clips": vl.RandomClip(2), "columns": ["mean", "last"], "size": (8, 8), "seed": 7}
    outs = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    vl.map_clips(dataset, mean_of, outs[0], workers=0, **options)
    # A lambda is not importable in a worker; it travels as code.
    vl.map_clips(dataset, lambda clip: mean_of(clip), outs[1], workers=2, **options)
    first, second = (pq.read_table(out).replace_schema_metadata() for out in outs)
    assert first.equals(second)
    assert first.schema.field("mean").type.value_type.value_type == "float"
    assert np.array(first["mean"].to_pylist()[0]).shape == (2, 3)


def test_partitions_that_dask_maps_have_the_rows_of_one_job(dataset, tmp_path):
    from dask.distributed import Client, LocalCluster

    job = {"clips": vl.RandomClip(2), "columns": ["mean", "last"], "seed": 7, "workers": 0}
    parts = dataset.partitions(3)
    outs = [tmp_path / f"{number}.parquet" for number in range(len(parts))]
    # Threads: a process would import torch. That partitions pickle is tested where they are made.
    how = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**how) as cluster, Client(cluster) as client:
        tables = client.gather(client.map(partial(mapped, **job), parts, outs))
    whole = vl.map_clips(dataset.videos, mean_of, tmp_path / "all.parquet", **job)
    assert [table["row"].to_pylist() for table in tables] == [[0, 1], [3, 4], [5]]
    assert pa.concat_tables(tables).equals(whole)


def test_a_function_may_return_several_rows_or_none(dataset, tmp_path):
    videos = dataset.filter(min_frames=9)
    table = vl.map_clips(videos, halves, tmp_path / "a.parquet", workers=0)
    assert table.select(["row", "clip", "start", "stop"]).to_pylist() == [
        {"row": 5, "clip": 0, "start": 0, "stop": 4},
        {"row": 5, "clip": 1, "start": 4, "stop": 9},
    ]
    assert len(vl.map_clips(videos, lambda _: [], tmp_path / "b.parquet", workers=0)) == 0


def test_a_video_that_ends_its_process_costs_a_row(dataset, tmp_path):
    def deadly(video):
        import os

        if len(video) == 5:
            os._exit(7)
        return {"frames": len(video)}

    table = vl.map_clips(dataset, deadly, tmp_path / "out.parquet", workers=1)
    assert table["error_kind"].to_pylist() == [
        *(None, "WorkerDied", "FormatError", None, "SourceError", None)
    ]
    assert table["frames"].to_pylist() == [4, None, None, 7, None, 9]


def test_errors_of_the_function_are_recorded_or_raised(dataset, tmp_path):
    def refuse(video):
        raise KeyError("no such word")

    part = dataset.filter(max_frames=4)
    table = vl.map_clips(part, refuse, tmp_path / "a.parquet", workers=0, columns="word")
    assert table["error_kind"].to_pylist() == ["KeyError"]
    assert "0.mp4: KeyError: 'no such word'" in table["error"][0].as_py()
    assert table["word"].to_pylist() == [None]
    with pytest.raises(vl.VideoError, match="no such word"):
        vl.map_clips(part, refuse, tmp_path / "b.parquet", workers=0, on_error="raise")


@pytest.mark.parametrize("workers", [0, 1])
def test_errors_of_the_function_are_logged_and_counted(dataset, tmp_path, caplog, workers):
    def divide(video):
        return {"n": 1 / (len(video) - 4) if len(video) < 6 else torch.zeros(2, 3)}["n"]

    out = tmp_path / "a.parquet"
    table = vl.map_clips(dataset, divide, out, workers=workers)
    first, last = [record.getMessage() for record in caplog.records]
    assert "0.mp4: ZeroDivisionError: division by zero" in first
    assert last == f"{out}: the function failed for 4 of 6 videos"  # two do not open
    text = "3.mp4: the function returned a Tensor of shape (2, 3); return a dictionary, or name"
    assert text in table["error"][3].as_py()
    caplog.clear()
    vl.map_clips(dataset, count_frames, tmp_path / "b.parquet", workers=workers, columns="n")
    assert not caplog.records


FRAMES = """
import os, sys

def helper(video):
    return len(video)

def frames(video):
    with open(sys.argv[4], "a") as log:
        log.write(os.path.basename(video.name) + " ")
    return {"frames": helper(video)}
"""

# The main script of a process that is killed when so many videos are done.
KILLED = f"""{FRAMES}
import signal
import videoloader as vl
from videoloader.indexing.dataset.journal import Journal

add, left = Journal.add, [int(sys.argv[1])]

def stop(self, row):
    add(self, row)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

Journal.add = stop
vl.map_clips(sys.argv[2], frames, sys.argv[3], workers=0)
"""


def test_a_job_that_was_killed_goes_on_where_it_was(dataset, tmp_path, monkeypatch):
    out, log, script = tmp_path / "out.parquet", tmp_path / "log", tmp_path / "main.py"
    script.write_text(KILLED)
    words = ["2", str(dataset.path), str(out), str(log)]
    assert run_program([sys.executable, script, *words]).returncode == -9
    assert log.read_text().split() == ["0.mp4", "1.mp4"]
    main = {"__name__": "__main__"}
    exec(FRAMES, main)  # the same function, in this process
    monkeypatch.setattr(sys, "argv", ["", *words])
    table = vl.map_clips(dataset, main["frames"], out, workers=0)
    assert log.read_text().split() == ["0.mp4", "1.mp4", "3.mp4", "5.mp4"]
    assert table["frames"].to_pylist() == [4, 5, None, 7, None, 9]
    assert not Path(f"{out}.journal").exists()


def stopped_after(count, function):
    """The function, which is interrupted when it was called so often."""
    calls = []

    def call(video):
        if len(calls) == count:
            raise KeyboardInterrupt
        calls.append(video.name)
        return function(video)

    call.__qualname__ = "call"
    return call, calls


@pytest.mark.parametrize("change", ["name", "code", "options", "file"])
def test_results_of_another_job_or_file_do_not_count(tmp_path, change):
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in "ab":
        encode_video(folder / f"{name}.mp4", frames=4, size=(64, 64))
    out = tmp_path / "out.parquet"
    first, calls = stopped_after(1, count_frames)
    with pytest.raises(KeyboardInterrupt):
        vl.map_clips(folder, first, out, workers=0)
    assert len(calls) == 1
    second, calls = stopped_after(-1, count_frames)
    if change == "name":
        second.__qualname__ = "another"
    if change == "code":
        second.__code__ = second.__code__.replace(co_consts=(*second.__code__.co_consts, 7))
    if change == "file":
        encode_video(folder / "a.mp4", frames=6, size=(64, 64))
    options = {"rotate": False} if change == "options" else {}
    table = vl.map_clips(folder, second, out, workers=0, **options)
    assert len(calls) == 2
    assert table["frames"].to_pylist() == [6 if change == "file" else 4, 4]


def test_a_result_is_kept_where_it_is_asked_for(dataset, tmp_path):
    out = tmp_path / "out.parquet"
    function, calls = stopped_after(-1, count_frames)
    run = partial(vl.map_clips, dataset, function, out, workers=0)
    assert run(keep=True).equals(run(keep=True))
    assert len(calls) == 4
    run()
    assert len(calls) == 8


def test_shards_together_are_the_whole(dataset, tmp_path):
    parts = [
        vl.map_clips(dataset, count_frames, tmp_path / f"{i}.parquet", workers=0, shard=(i, 2))
        for i in range(2)
    ]
    whole = vl.map_clips(dataset, count_frames, tmp_path / "all.parquet", workers=0)
    assert [row for part in parts for row in part.to_pylist()] == whole.to_pylist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5], "double"),
        ([None, b"x"], "binary"),
        ([np.float32(1), np.float32(2)], "float"),
        ([torch.zeros(2, dtype=torch.bfloat16), torch.ones(3)], "list<element: float>"),
        ([np.zeros((2, 2), np.uint8)] * 2, "list<element: list<element: uint8>>"),
    ],
)
def test_values_keep_their_types(dataset, tmp_path, values, kind):
    given = iter(values)
    table = vl.map_clips(
        dataset.filter(max_frames=5),
        lambda _: next(given),
        tmp_path / "out.parquet",
        columns="value",
        workers=0,
    )
    assert str(table.schema.field("value").type).replace("item:", "element:") == kind


@pytest.mark.parametrize(
    ("function", "options", "error", "text"),
    [
        (lambda _: {"key": 1}, {}, vl.errors.ArgumentError, "'key'"),
        (
            lambda video: len(video) if len(video) == 4 else "x",
            {},
            vl.errors.ArgumentError,
            "several types",
        ),
        (lambda _: {"x": {}}, {}, vl.errors.ArgumentError, "values that Parquet cannot hold .*'x'"),
        (count_frames, {"size": 8}, vl.errors.ArgumentError, "size is of clips"),
        (count_frames, {"sise": 8}, TypeError, "sise"),
        (
            "count_frames",
            {},
            vl.errors.ArgumentTypeError,
            "function is called .* got 'count_frames'",
        ),
        (count_frames, {"seed": 1.5}, TypeError, "seed must be a whole number"),
        (count_frames, {"device": "tpu"}, vl.errors.ArgumentError, "device must be"),
        (count_frames, {"on_error": "skip"}, vl.errors.ArgumentError, "record"),
        (open(__file__).read, {"workers": 1}, vl.errors.ArgumentError, "make what does not pickle"),  # noqa: SIM115
    ],
)
def test_what_does_not_go_together_is_refused(dataset, tmp_path, function, options, error, text):
    with pytest.raises(error, match=text):
        vl.map_clips(
            dataset.filter(max_frames=5),
            function,
            tmp_path / "out.parquet",
            **{"columns": "n", "workers": 0} | options,
        )


def test_frame_numbers_are_not_replaced_by_a_column_of_the_function(dataset, tmp_path):
    table = vl.map_clips(
        dataset,
        lambda clip: {"frames": 1},
        tmp_path / "out.parquet",
        clips=vl.UniformClip(2),
        workers=0,
    )
    assert "0.mp4: the function has a column 'frames'" in table["error"][0].as_py()


def test_rows_without_values_have_no_column(dataset, tmp_path):
    table = vl.map_clips(dataset, lambda video: {}, tmp_path / "out.parquet", workers=0)
    assert table.column_names == ["row", "key", "clip", "error", "error_kind"]
    assert len(table) == 6


def test_a_list_is_taken_in_its_order_and_each_video_once(dataset, tmp_path):
    paths = [str(dataset.item(row).path) for row in (3, 0)]
    table = vl.map_clips(paths, count_frames, tmp_path / "a.parquet", workers=0)
    assert table["frames"].to_pylist() == [7, 4]
    assert table["row"].to_pylist() == [0, 1]
    with pytest.raises(vl.errors.ArgumentError, match="listed twice"):
        vl.map_clips(paths * 2, count_frames, tmp_path / "b.parquet", workers=0)


def test_a_class_of_the_main_script_is_refused_for_workers(dataset, tmp_path, monkeypatch):
    class Model:
        def __call__(self, video):
            return {"frames": len(video)}

    monkeypatch.setattr(Model, "__module__", "__main__")
    with pytest.raises(vl.errors.ArgumentError, match="class of the main script"):
        vl.map_clips(dataset, Model(), tmp_path / "out.parquet", workers=1)
    assert len(vl.map_clips(dataset, Model(), tmp_path / "out.parquet", workers=0)) == 6


def test_the_options_of_clips_are_those_of_get_frames():
    from videoloader.decoding.options import FrameOptions, StreamOptions

    known = {*FrameOptions.__annotations__, *StreamOptions.__annotations__}
    assert set(mapping.MapOptions.__annotations__) == known
