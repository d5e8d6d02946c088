"""What the machine lacks is never a sample's failure: open files, workers, shared memory."""

import errno
import json
import os
import resource
import sys

import pytest
import torch
from damaged_videos import make_videos
from programs import run_program

import videoloader as vl
from videoloader.decoding.check import check_dataset
from videoloader.machinery.system.faults import as_video_error

COUNT = 150
LIMIT = 100  # descriptors, of which Python and torch have some

# Runs where the limit may be lowered for good.
PROGRAM = """
import json, os, resource, sys

import av
import torch

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def

limit, takes_all, ways = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
videos = sys.argv[4:]
for how, workers in ways:  # each in a process of its own, for which torch is imported once
    child = os.fork()
    if not child:
        break
    assert os.waitpid(child, 0)[1] == 0
else:
    sys.exit()
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
log = f"errors-{how}.jsonl"
clips, skip = vl.UniformClip(2), {"on_error": "skip", "error_log": log}

def batch():
    wanted = [(video, [*range(1 + at % 7)]) for at, video in enumerate(videos)]
    yield lambda: [len(vl.decode_batch(wanted, workers=workers, on_error="skip"))]

def loader():
    batches = vl.Loader(videos, clips, batch_size=len(videos), workers=workers, **skip)
    yield lambda: [len(batch["sample"]) for batch in batches]

def dataset():
    data = vl.ClipDataset(videos, clips, **skip)
    yield lambda: [len(data.__getitems__(list(range(len(data)))))]

def index():
    yield lambda: [len(vl.index_dataset(videos, "set.parquet", workers=workers).failed)]

def files():
    @pipeline_def(batch_size=len(videos), num_threads=1, prefetch_queue_depth=1, **skip)
    def definition():
        return fn.readers.file(files=videos, name="Reader")[0]
    pipeline = definition()
    pipeline.build()
    yield lambda: [len(pipeline.run()[0])]

taken, found = [], {}
(work,) = globals()[how]()
if takes_all == "True":  # nothing is left for anybody
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        pass
try:
    found["sizes"] = work()
except Exception as error:
    found["text"] = str(error)
    chain = []
    while error is not None:
        chain += [each.__name__ for each in type(error).__mro__]
        error = error.__cause__
    found["error"] = chain
for descriptor in taken:
    os.close(descriptor)
found["log"] = os.path.getsize(log) if os.path.exists(log) else 0
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    return make_videos(folder / "videos", count=COUNT)


def run(paths, tmp_path, ways, *, takes_all=False):
    """What each way (its name, its workers) finds."""
    words = PROGRAM, str(LIMIT), str(takes_all), json.dumps(ways), *paths
    told = run_program([sys.executable, "-c", *words], check=True, cwd=tmp_path)
    found = map(json.loads, told.stdout.splitlines())
    return {how: each for (how, _), each in zip(ways, found, strict=True)}


def test_a_batch_may_have_more_videos_than_a_process_may_open(paths, tmp_path):
    ways = [("loader", 1), ("dataset", 0), ("batch", 1), ("index", 0)]
    assert run(paths, tmp_path, ways) == {
        how: {"sizes": [0 if how == "index" else COUNT], "log": 0} for how, _ in ways
    }


def test_without_a_descriptor_the_run_ends_and_no_sample_is_blamed(paths, tmp_path):
    ways = [(how, 0) for how in ("loader", "dataset", "batch", "files")]
    for how, found in run(paths[:3], tmp_path, ways, takes_all=True).items():
        assert {"ResourceError", "OSError"} <= {*found["error"]}, how
        assert "ulimit -n" in found["text"], how
        assert found["log"] == 0, how


@pytest.fixture
def full(monkeypatch, paths):
    """The second video meets a system that has no descriptor left."""
    monkeypatch.setattr(os, "open", _refusing(paths[1]))
    return monkeypatch


def _refusing(video, real=os.open):
    def refuse(path, *arguments, **options):
        if str(path) == str(video):
            raise OSError(errno.ENFILE, "Too many open files in system")
        return real(path, *arguments, **options)

    return refuse


def test_jobs_end_and_go_on_later(paths, tmp_path, full):
    out = tmp_path / "set.parquet"
    with pytest.raises(vl.errors.ResourceError, match="ulimit -n"):
        vl.index_dataset(paths[:3], out, workers=0)
    assert not out.exists()
    full.undo()
    dataset = vl.index_dataset(paths[:3], out, workers=0)
    assert not len(dataset.failed)
    full.setattr(os, "open", _refusing(paths[1]))
    with pytest.raises(vl.errors.ResourceError, match="ulimit -n"):
        check_dataset(dataset, tmp_path / "damage.parquet", workers=0)
    full.undo()
    assert check_dataset(dataset, tmp_path / "damage.parquet", workers=0).num_rows == 0


@pytest.mark.parametrize("on_error", ["skip", "replace", "mask", "raise"])
def test_a_loader_goes_on_behind_a_shortage_without_having_blamed_a_video(
    paths, tmp_path, full, on_error
):
    batches = vl.Loader(
        paths[:4],
        vl.UniformClip(1),
        batch_size=2,
        workers=0,
        prefetch=1,
        on_error=on_error,
        error_log=tmp_path / "errors.jsonl",
    )
    iterator = iter(batches)
    with pytest.raises(vl.errors.ResourceError, match=r"1\.mp4: no open file is left"):
        next(iterator)
    assert next(iterator)["sample"].tolist() == [2, 3]
    assert batches.failures == []
    assert (tmp_path / "errors.jsonl").read_text() == ""


def test_a_file_that_is_opened_in_turn_is_the_same_or_an_error(paths, tmp_path, monkeypatch):
    path = tmp_path / "video.mp4"
    path.write_bytes(paths[0].read_bytes())
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8, 8))  # all numbers are beyond 4
    with vl.Video(path) as video:
        assert torch.equal(video[3], vl.Video(paths[0])[3])
        before = os.listdir("/proc/self/fd")
        assert str(path) not in [os.path.realpath(f"/proc/self/fd/{each}") for each in before]
        path.write_bytes(paths[0].read_bytes() + b"more")
        with pytest.raises(vl.errors.SourceError, match="has changed since it was opened"):
            video[8]
    with pytest.raises(vl.VideoError):
        video[0]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        OSError(errno.ENFILE, "Too many open files in system"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ValueError("Generic LocalFileSystem error: Too many open files (os error 24)"),
    ],
    ids=repr,
)
def test_what_the_machine_lacks_is_told_as_such_through_any_cause(error):
    ours = as_video_error(error, "clip.mp4")
    assert isinstance(ours, vl.errors.ResourceError)
    assert isinstance(ours, OSError)
    wrapped = vl.errors.SourceError("clip.mp4: cannot be read")
    wrapped.__cause__ = error
    assert isinstance(as_video_error(wrapped, "clip.mp4"), vl.errors.ResourceError)


def test_videos_that_memory_was_short_for_are_not_left_out(paths, tmp_path):
    log = tmp_path / "errors.jsonl"
    lines = [
        {"path": str(paths[number]), "frame": None, "kind": kind}
        for number, kind in enumerate(["OutOfMemoryError", "DecodeError"])
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    loader = vl.Loader(paths[:3], vl.UniformClip(1), batch_size=3, workers=0, skip_known=log)
    assert [batch["sample"].tolist() for batch in loader] == [[0, 2]]
