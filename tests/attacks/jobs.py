"""Kills jobs that write files, at each of their file operations: nothing is lost, nothing is half.

    python tests/attacks/jobs.py                       each job at every operation; minutes
    python tests/attacks/jobs.py scenes cut --most 8   some jobs, at so many operations of each

Each file must get its name by a rename. An operation is an event of Python's audit hooks about a
path below the folder that is written to: open, rename, remove, mkdir and so on. The job ends by
SIGKILL right before it. What then lies under a final name must be what an undisturbed job writes,
byte for byte; called again, the job must end with all of it, and nothing else. Each job is a fork
of this process, which never decodes.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

import av  # noqa: F401  (once for all forks)
import numpy as np
import pyarrow.parquet  # noqa: F401
import torch  # noqa: F401

import videoloader as vl
from videoloader.datasets.report.page import write_report
from videoloader.decoding.clip_cache import ClipCache
from videoloader.demo.shots import encode_shots

SAME = {"preset": "ultrafast", "x264-params": "threads=1:no-mbtree=1"}  # gives the same bytes
LOADED = (vl.Video, vl.cut, vl.transcode, vl.map_clips, vl.find_duplicates)  # once for all forks
UNFINISHED = (".partial", ".journal", ".lock")
OLD = b"what was there before"
TIME = 1_700_000_000


def make_sources(folder):
    """Videos of two shots, two of them copies, and a data set index of them."""
    (folder / "videos").mkdir()
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        path = encode_shots(folder / f"videos/{name}.mp4", [6, 6], seed=seed, size=(64, 48))
        os.utime(path, (TIME, TIME))
    vl.index_dataset(folder / "videos", folder / "set.parquet", 0).close()


def cut(sources, out, method):
    """Replaces a file that is there already."""
    path = out / "cut.mp4"
    if not path.exists():
        path.write_bytes(OLD)
    options = {"options": SAME} if method == "encode" else {}
    vl.cut(sources / "videos/a.mp4", path, 2, 9, method=method, **options)


def transcode(sources, out, **options):
    vl.transcode(sources / "videos", out, options=SAME, workers=0, gop=4, **options)


def index(sources, out):
    vl.index_dataset(sources / "videos", out / "made.parquet", 0).close()


def scenes(sources, out):
    vl.map_clips(sources / "set.parquet", vl.find_scenes, out / "made.parquet", workers=0)


def dedupe(sources, out):
    vl.find_duplicates(sources / "set.parquet", out / "made.parquet", workers=0)


def report(sources, out):
    with vl.open_dataset(sources / "set.parquet") as dataset:
        write_report(dataset, out, workers=0)


def clip_cache(sources, out):
    """Three clips, of which two fit."""
    for number in range(3):
        cache = ClipCache(out, 2 * 5000)
        cache._write(f"{number:032x}", np.full(4000, number, np.uint8), None)


JOBS = {
    "cut": partial(cut, method="copy"),
    "cut by encoding": partial(cut, method="encode"),
    "transcode": transcode,
    "transcode to archives": partial(transcode, videos_per_shard=2),
    "transcode to LeRobot": partial(transcode, lerobot="camera"),
    "index": index,
    "scenes": scenes,
    "dedupe": dedupe,
    "report": report,
    "clip cache": clip_cache,
}


def in_fork(function, *arguments):
    """Call a function in a fork; how that ended, as `os.waitstatus_to_exitcode` says."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        function(*arguments)
    except BaseException as error:  # noqa: BLE001  (the caller's stack is not for this process)
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)
    os._exit(0)


def killed(job, sources, out, moment):
    """Do a job up to one of its file operations; to its end if there are fewer.

    How many there were is then in a file beside the folder, with the names that files were renamed
    to.
    """
    below, done = os.fsencode(f"{out}/"), [0]
    renamed = []

    def watch(event, arguments):
        if event.partition(".")[0] not in ("open", "os", "shutil"):
            return
        paths = (os.fsencode(each) for each in arguments if isinstance(each, str | bytes))
        if any(path.startswith(below) for path in paths):
            if done[0] == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            done[0] += 1
            if event == "os.rename":
                renamed.append(os.path.relpath(arguments[1], out))

    sys.addaudithook(watch)
    job(sources, out)
    out.with_name(f"{out.name}.count").write_text(json.dumps([done[0], renamed]))


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".cache"
    }


def check_left(found, whole, name):
    """What a killed job may leave."""
    for path, data in found.items():
        is_own = path.startswith(".staged/") or any(x in path for x in (".hashes.", ".digests"))
        if path.endswith(UNFINISHED) or is_own:
            continue
        is_right = data == whole.get(path) or (path == "cut.mp4" and data == OLD)
        if name == "clip cache":
            is_right = len(set(data[-4000:])) == 1  # of one clip, wholly
        assert is_right, f"{name}: {path} is not what the job writes"
    if "meta/info.json" in found:  # a data set is there as a whole
        assert all(found.get(path) == data for path, data in whole.items() if "journal" not in path)


def attack(name, sources, folder, most):
    """Kill a job at its operations; how many it has."""
    job = JOBS[name]

    def run(out, moment):
        out.mkdir(exist_ok=True)
        return in_fork(killed, job, sources, out, moment)

    assert run(folder / "whole", 1 << 40) == 0, name
    whole = contents(folder / "whole")
    count, renamed = json.loads((folder / "whole.count").read_text())
    # Libraries write without events, so no kill falls into a write: see that it has another name.
    direct = {path for path in whole if not path.endswith(UNFINISHED)} - {*renamed}
    assert not direct, f"{name}: written under their final names: {direct}"
    most = count if most is None else min(most, count)
    for moment in np.linspace(0, count - 1, most).round().astype(int).tolist():
        out = folder / f"killed-{moment}"
        assert run(out, moment) == -signal.SIGKILL, (name, moment)
        check_left(contents(out), whole, name)
        assert in_fork(job, sources, out) == 0, (name, moment)
        done = {path: data for path, data in contents(out).items() if "journal" not in path}
        if name == "clip cache":
            check_left(done, whole, name)
        else:
            left = [path for path in done if path not in whole]
            wrong = [
                path
                for path, data in whole.items()
                if "journal" not in path and done.get(path) != data
            ]
            assert not wrong, (name, moment, wrong)
            assert all(path.endswith(".partial") for path in left), (name, moment, left)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", choices=[[], *JOBS], help="all by default")
    parser.add_argument("--most", type=int, help="operations at which each job is killed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = folder / "sources"
        sources.mkdir()
        assert in_fork(make_sources, sources) == 0
        for number, job in enumerate(arguments.jobs or JOBS):
            (folder / str(number)).mkdir()
            count = attack(job, sources, folder / str(number), arguments.most)
            sys.stdout.write(f"{job}: {count} file operations\n")
            sys.stdout.flush()
            shutil.rmtree(folder / str(number))


if __name__ == "__main__":
    main()
