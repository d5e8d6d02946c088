"""Data set indexes: the same file however the job went, and every index out of it at once."""

import json
import os
import pickle
import random
import shutil
import signal
import sys
import tarfile
from pathlib import Path
from subprocess import TimeoutExpired
from urllib.parse import quote

import pytest
import torch
from programs import Program

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing.dataset import find_items, merge_datasets
from videoloader.indexing.dataset.journal import Journal
from videoloader.indexing.dataset.rows import make_row
from videoloader.machinery.system.address import local_path
from videoloader.machinery.workers.tasks import run_tasks

pytestmark = pytest.mark.usefixtures("forked_workers")

COUNT = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("set") / "videos"
    folder.mkdir()
    for number in range(COUNT):
        suffix = (".mp4", ".mkv")[number % 3 == 2]
        encode_video(folder / f"{number:02}{suffix}", frames=10 + number, size=(64, 64))
    (folder / "05-bad.mp4").write_bytes(b"no video")
    (folder / "notes.md").write_text("no video either, and not called one")
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "set.parquet"


@pytest.fixture(scope="module")
def expected(folder, tmp_path_factory):
    """The file that an undisturbed job in one process writes."""
    path = tmp_path_factory.mktemp("expected") / "set.parquet"
    vl.index_dataset(folder, path, workers=0).close()
    return path.read_bytes()


def children():
    """Processes that this one has started and not yet buried."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def test_every_index_is_the_one_of_its_video(folder, out):
    dataset = vl.index_dataset(folder, out, workers=0)
    assert len(dataset.videos) == COUNT
    for number, index in enumerate(dataset.videos):
        item = dataset.videos.item(number)
        alone = vl.index_video(item.path)
        assert (index.packets == alone.packets).all()
        assert index.pts.tolist() == alone.pts.tolist()
        assert index.fingerprint == alone.fingerprint
        with vl.Video(dataset.videos.source(number), index=index) as video:
            assert read_frame_number(video[7].numpy()) == 7
    assert dataset.videos[-1].num_frames == dataset.videos[COUNT - 1].num_frames
    with pytest.raises(IndexError, match="13 rows, of which 1 are failures"):
        dataset.videos[COUNT]


def test_one_numbering_for_the_file_and_the_data_set(folder, tmp_path, out):
    """Rows are videos and failures alike, wherever the failures are."""
    import pyarrow.parquet as pq

    copies = tmp_path / "copies"
    copies.mkdir()
    sound = sorted(folder.glob("*.mp4"))[0].read_bytes()
    for number in range(9):
        (copies / f"{number}.mp4").write_bytes(sound if number in (1, 2, 5, 6) else b"no video")
    dataset = vl.index_dataset(copies, out, workers=0)
    rows = pq.read_table(out).to_pylist()
    assert len(dataset) == len(rows) == dataset.table.num_rows == 9
    for number, row in enumerate(rows):
        assert dataset.item(number).path == str(copies / row["path"])
        assert row["path"] == dataset.keys[number] == row["key"]
        if row["error"] is None:
            assert dataset[number].num_frames == row["num_frames"]
        else:
            with pytest.raises(vl.errors.FormatError, match=f"{number}.mp4") as caught:
                dataset[number]
            assert str(caught.value) == f"{copies}/{row['error']}"
    good = [number for number, row in enumerate(rows) if row["error"] is None]
    videos = dataset.videos
    assert videos.rows.tolist() == good == [videos.row(i) for i in range(len(videos))]
    assert [videos.item(i).path for i in range(4)] == [str(copies / f"{row}.mp4") for row in good]
    assert [videos.row(i) for i in range(-4, 0)] == good
    assert dataset.failed.tolist() == dataset.errors["row"].to_pylist() == [0, 3, 4, 7, 8]
    again = pickle.loads(pickle.dumps(videos))
    assert again.rows.tolist() == good
    with pytest.raises(vl.errors.FormatError, match=r"0\.mp4"):
        list(dataset)
    assert dataset[-8].num_frames == dataset[1].num_frames
    with pytest.raises(IndexError, match="row 9 of a data set of 9"):
        dataset[9]


def test_errors_are_rows_of_a_table(folder, out):
    dataset = vl.index_dataset(folder, out, workers=0)
    (row,) = dataset.errors.to_pylist()
    assert row["path"].endswith("05-bad.mp4")
    assert row["key"] == row["path"]
    assert "05-bad.mp4" in row["error"]
    assert row["error_kind"] == "FormatError"
    assert row["row"] == dataset.keys.index(row["key"])
    with pytest.raises(vl.VideoError, match=r"05-bad\.mp4"):
        vl.index_dataset(folder, out.with_name("other.parquet"), on_error="raise")


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_change_nothing_in_the_file(folder, out, expected, workers):
    vl.index_dataset(folder, out, workers=workers)
    assert out.read_bytes() == expected
    assert sorted(path.name for path in out.parent.iterdir()) == [out.name, f"{out.name}.cache"]


def test_the_file_is_ordinary_parquet(folder, out):
    import pyarrow.parquet as pq

    vl.index_dataset(folder, out, workers=0)
    table = pq.read_table(out)
    assert table.num_rows == COUNT + 1
    good = table.filter(table["error"].is_null()).to_pylist()
    assert [row["num_frames"] for row in good] == [10 + n for n in range(COUNT)]
    assert {row["codec"] for row in good} == {"h264"}
    assert good[0]["duration"] == pytest.approx(10 / 30)


def test_a_job_that_is_killed_again_and_again_ends_with_the_same_file(folder, out, expected):
    program = (
        "import sys, videoloader as vl\n"  # no guard: workers do not run the script again
        "vl.index_dataset(sys.argv[1], sys.argv[2], workers=1)"
    )
    script = out.with_name("job.py")
    script.write_text(program)
    rng = random.Random(5)
    for _ in range(5):
        job = Program([sys.executable, script, folder, out], start_new_session=True)
        try:
            job.wait(timeout=rng.uniform(0.3, 1.2))
        except TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    vl.index_dataset(folder, out, workers=1)
    assert out.read_bytes() == expected


def test_a_journal_drops_what_was_cut_short(folder, tmp_path):
    items = find_items(folder)
    path = tmp_path / "journal"
    journal = Journal(path)
    ends = []
    for item in items[:4]:
        journal.add(make_row(item, headers=False))
        ends.append(path.stat().st_size)
    journal.close()
    data = path.read_bytes()
    for cut in (ends[2] + 3, ends[3] - 1, ends[1], 5):
        path.write_bytes(data[:cut])
        journal = Journal(path)
        whole = sum(end <= cut for end in ends)
        assert [journal.get(item) is not None for item in items[:4]] == [
            number < whole for number in range(4)
        ]
        journal.close()
        assert path.exists() == bool(whole)
        assert not whole or path.stat().st_size == ends[whole - 1]


def test_only_what_changed_is_indexed_again(folder, tmp_path, out, monkeypatch):
    from videoloader.indexing.dataset import rows

    copies = tmp_path / "copies"
    copies.mkdir()
    for file in folder.glob("*.mp4"):
        (copies / file.name).write_bytes(file.read_bytes())
    seen = []
    make = rows.begin_row
    monkeypatch.setattr(
        rows,
        "begin_row",
        lambda item, **options: seen.append(item.path) or make(item, **options),
    )
    vl.index_dataset(copies, out, workers=0)
    assert len(seen) == len(list(copies.iterdir()))
    seen.clear()
    vl.index_dataset(copies, out, workers=0)
    assert seen == []
    for name in ("00.mp4", "05-bad.mp4"):
        os.utime(copies / name, ns=(1, 1))
    (copies / "01.mp4").write_bytes((copies / "04.mp4").read_bytes())
    (copies / "03.mp4").unlink()
    dataset = vl.index_dataset(copies, out, workers=0)
    assert [Path(path).name for path in seen] == ["01.mp4", "05-bad.mp4"]  # 00.mp4 is the same
    assert not any(dataset.item(i).path.endswith("03.mp4") for i in range(len(dataset)))
    seen.clear()
    dataset = vl.index_dataset(copies, out, workers=0, headers=True)
    assert all(index.has_headers for index in dataset.videos)
    assert len(seen) == len(dataset.videos)


@pytest.mark.parametrize(
    ("name", "told", "kind"),
    [
        ("02-hang.mp4", "it took longer than 2 s", "TimeLimit"),
        ("00-crash.mp4", "the worker process died (signal SIGSEGV)", "WorkerDied"),
    ],
)
@pytest.mark.usefixtures("fresh_workers")
def test_a_worker_that_hangs_or_dies_costs_its_video_only(
    folder, tmp_path, out, monkeypatch, name, told, kind
):
    copies = tmp_path / "copies"
    copies.mkdir()
    for file in sorted(folder.glob("*.mp4"))[:3]:
        (copies / file.name).write_bytes(file.read_bytes())
    (copies / name).write_bytes(file.read_bytes())

    def run_odd_tasks(_, tasks, **how):
        return run_tasks("odd_indexers:odd_row", tasks, **how)

    monkeypatch.setattr("videoloader.indexing.dataset.video_job.run_tasks", run_odd_tasks)
    before = children()
    dataset = vl.index_dataset(sorted(copies.iterdir()), out, workers=1, time_limit=2.0)
    (error,) = dataset.errors.to_pylist()
    assert f"{name}: {told}" in error["error"]
    assert error["error_kind"] == kind
    assert len(dataset.videos) == 3
    assert children() == before
    with pytest.raises(vl.VideoError, match=name):
        dataset[int(name[1])]


def test_members_of_a_tar_archive_are_indexed_in_place(folder, tmp_path, out):
    archive = tmp_path / "shard-0.tar"
    with tarfile.open(archive, "w") as tar:
        for file in sorted(folder.glob("*.m*")):
            tar.add(file, file.name)
    dataset = vl.index_dataset(archive, out, workers=0)
    assert len(dataset.videos) == COUNT
    assert dataset.keys[0] == f"{archive}/00.mp4"
    dataset = dataset.videos
    for number in (0, 2, COUNT - 1):
        item = dataset.item(number)
        assert item.path == str(archive)
        with vl.Video(dataset.source(number), index=dataset[number]) as video:
            assert video.name == dataset[number].name == f"{archive}/{item.member}"
            assert read_frame_number(video[5].numpy()) == 5
            assert len(video) == 10 + number


def test_lists_globs_and_files_name_the_same_videos(folder, tmp_path):
    wanted = [item.path for item in find_items(folder)]
    assert [item.path for item in find_items([f"{folder}/*.m[pk][4v]"])] == wanted
    listed = tmp_path / "list.txt"
    listed.write_text("# a comment\n\n" + "\n".join(os.path.relpath(w, tmp_path) for w in wanted))
    assert [item.path for item in find_items(listed)] == wanted
    assert [item.path for item in find_items([*wanted, str(folder)])] == wanted
    for wrong, words in ((tmp_path / "none", "no such"), (f"{tmp_path}/*.mp4", "nothing matches")):
        if "*" in str(wrong):
            with pytest.raises(vl.errors.SourceError, match=words):
                find_items([wrong])
    with pytest.raises(vl.errors.UnsupportedError, match="ftp"):
        vl.index_video("ftp://host/clip.mp4")


@pytest.mark.parametrize("name", [b"#a.mp4", b" a.mp4 ", b"a\nb.mp4", b"s/a\xff.mp4", b"a%20.mp4"])
def test_a_list_has_any_path_percent_encoded(folder, tmp_path, name):
    path = os.fsencode(tmp_path) + b"/" + name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(find_items(folder)[0].path, path)
    (tmp_path / "list.txt").write_text(f"file:{quote(name)}\n")
    with vl.index_dataset(tmp_path / "list.txt", tmp_path / "set.parquet", 0) as dataset:
        assert len(dataset.errors) == 0
        assert os.path.samefile(local_path(dataset.item(0).path), path)


def test_shards_merge_to_the_whole(folder, tmp_path, expected):
    parts = []
    for number in range(3):
        parts.append(tmp_path / f"part{number}.parquet")
        vl.index_dataset(folder, parts[-1], workers=0, shard=(number, 3))
    merged = merge_datasets(parts, tmp_path / "all.parquet")
    assert len(merged.videos) == COUNT
    assert (tmp_path / "all.parquet").read_bytes() == expected


def test_a_part_does_not_replace_the_index_of_all_videos_or_of_another_part(folder, tmp_path, out):
    vl.index_dataset(folder, out, workers=0).close()
    before = out.read_bytes()
    with pytest.raises(vl.errors.ArgumentError, match=r"not in part 0 of 2, .* a file of its own"):
        vl.index_dataset(folder, out, workers=0, shard=(0, 2))
    assert out.read_bytes() == before
    assert not [*out.parent.glob("*.journal")]
    part = tmp_path / "part.parquet"
    vl.index_dataset(folder, part, workers=0, shard=(0, 2)).close()
    with pytest.raises(vl.errors.ArgumentError, match="not in part 1 of 2"):
        vl.index_dataset(folder, part, workers=0, shard=(1, 2))
    vl.index_dataset(folder, part, workers=0).close()  # the whole has all that is there
    assert part.read_bytes() == before


def test_a_part_stays_one_where_videos_are_added(folder, tmp_path):
    more, part = tmp_path / "more", tmp_path / "part.parquet"
    shutil.copytree(folder, more)
    vl.index_dataset(more, part, workers=0, shard=(1, 2)).close()
    names = sorted(path.name for path in more.iterdir() if path.is_file())
    for number in range(len(names)):  # behind all others: the part now begins later
        shutil.copy(more / names[-1], more / f"zz{number}.mp4")
    with vl.index_dataset(more, part, workers=0, shard=(1, 2)) as dataset:
        assert all("zz" in key for key in dataset.keys[-len(names) :])
    with pytest.raises(vl.errors.ArgumentError, match="not in part 0 of 2"):
        vl.index_dataset(more, part, workers=0, shard=(0, 2))


def test_a_data_set_pickles_and_feeds_a_loader(folder, out):
    dataset = vl.index_dataset(folder, out, workers=0)
    assert len(pickle.dumps(dataset)) < 500
    clips = vl.ClipDataset(dataset, vl.RandomClip(4))
    loader = torch.utils.data.DataLoader(
        clips, batch_size=4, num_workers=1, multiprocessing_context="spawn"
    )
    plain = vl.ClipDataset([dataset.videos.item(i).path for i in range(COUNT)], vl.RandomClip(4))
    for each in (clips, plain):
        each.set_epoch(0)
    frames = torch.cat([batch["frames"] for batch in loader])
    assert torch.equal(frames, torch.stack([plain[i]["frames"] for i in range(COUNT)]))


def test_a_changed_file_is_told_by_its_index(folder, tmp_path, out):
    file = tmp_path / "clip.mp4"
    file.write_bytes((folder / "00.mp4").read_bytes())
    dataset = vl.index_dataset(file, out)
    file.write_bytes((folder / "01.mp4").read_bytes())
    with pytest.raises(vl.errors.StaleIndexError, match=r"clip\.mp4.*its size differs"):
        vl.Video(dataset.source(0), index=dataset[0])


def test_what_is_no_data_set_index_is_refused(tmp_path, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "other.parquet"
    with pytest.raises(vl.errors.SourceError, match=r"other\.parquet"):
        vl.open_dataset(path)
    path.write_bytes(b"no parquet at all")
    with pytest.raises(vl.errors.FormatError, match=r"other\.parquet"):
        vl.open_dataset(path)
    pq.write_table(pa.table({"x": [1]}), path)
    for act in (vl.open_dataset, lambda p: merge_datasets([p], tmp_path / "m.parquet")):
        with pytest.raises(vl.errors.FormatError, match="no data set index"):
            act(path)


def test_a_new_file_makes_a_new_cache(folder, out):
    vl.index_dataset(folder / "00.mp4", out).close()
    dataset = vl.index_dataset([folder / "00.mp4", folder / "01.mp4"], out)
    assert len(dataset) == 2
    assert [dataset[i].num_frames for i in range(2)] == [10, 11]


def test_an_empty_set_of_good_videos_opens(tmp_path, out):
    (tmp_path / "bad.mp4").write_text("no")
    dataset = vl.index_dataset(tmp_path / "bad.mp4", out)
    assert (len(dataset), len(dataset.videos)) == (1, 0)
    assert list(dataset.videos) == dataset.videos.rows.tolist() == []
    assert dataset.errors.num_rows == 1


def test_the_command_does_the_job(folder, tmp_path, out):
    from typer.testing import CliRunner

    from videoloader.cli import app

    run = CliRunner().invoke
    result = run(app, ["index", str(folder), "-o", str(out), "--workers", "0", "--json"])
    assert result.exit_code == 1
    facts = json.loads(result.stdout)
    assert (facts["videos"], len(facts["errors"])) == (COUNT, 1)
    for number in range(2):
        part = str(tmp_path / f"{number}.parquet")
        words = ["index", str(folder), "-o", part, "--shard", f"{number}/2", "--workers", "0"]
        assert run(app, words).exit_code in (0, 1)
    merged = str(tmp_path / "m.parquet")
    result = run(app, ["merge", part.replace("1.p", "0.p"), part, "-o", merged])
    assert result.exit_code == 0
    assert Path(merged).read_bytes() == out.read_bytes()
    assert run(app, ["index", "/none", "-o", str(out)]).exit_code == 2
    assert run(app, ["index", "/none.mp4", "-o", str(out)]).exit_code == 1
    assert run(app, ["index", "/none*", "-o", str(out)]).exit_code == 2
    assert run(app, ["index", str(folder), "-o", str(out), "--shard", "x"]).exit_code == 2
