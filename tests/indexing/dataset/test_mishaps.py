"""Jobs and their files when things go wrong: full disks, other jobs, damage, names, archives."""

import io
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tarfile
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from shared_folders import give_away, make_shared

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing.dataset import find_items, merge_datasets
from videoloader.indexing.dataset.journal import Journal
from videoloader.indexing.dataset.rows import Row, make_row, schema
from videoloader.machinery.workers.tasks import run_tasks

pytestmark = pytest.mark.usefixtures("forked_workers")

COUNT = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mishaps") / "videos"
    folder.mkdir()
    for number in range(COUNT):
        encode_video(folder / f"{number}.mp4", frames=5 + number, size=(64, 64))
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out" / "set.parquet"


def in_a_process(limit, program, *arguments):
    """Run a program in which no file may grow over a limit, as on a full disk."""

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-c", "import sys, videoloader as vl\n" + program, *map(str, arguments)],
        preexec_fn=small,
        capture_output=True,
        text=True,
        check=False,
    )


JOB = """
try:
    vl.index_dataset(sys.argv[1], sys.argv[2], 0)
except vl.errors.SourceError as error:
    print(error)
"""


@pytest.mark.parametrize("room", [3000, 6000, 8000])
def test_a_full_disk_stops_the_job_and_the_next_goes_on(folder, out, room):
    expected = out.with_name("expected.parquet")
    vl.index_dataset(folder, expected, 0).close()
    told = in_a_process(room, JOB, folder, out)
    assert f"{out}" in told.stdout, told.stderr
    assert re.search(r"cannot be written \(.*File too large\)", told.stdout)
    assert not [name for name in os.listdir(out.parent) if name.endswith(".partial")]
    vl.index_dataset(folder, out, 0).close()
    assert out.read_bytes() == expected.read_bytes()


def test_rows_that_were_written_before_the_disk_was_full_are_not_made_again(folder, tmp_path):
    items = find_items(folder)
    rows = [make_row(item, headers=False) for item in items]
    path = tmp_path / "journal"
    room = sum(len(row.encode()) + 8 for row in rows[:3]) + 10
    program = """
from pathlib import Path
from videoloader.indexing.dataset import find_items
from videoloader.indexing.dataset.journal import Journal
from videoloader.indexing.dataset.rows import Row, make_row, schema
journal = Journal(Path(sys.argv[2]))
try:
    for item in find_items(sys.argv[1]):
        journal.add(make_row(item, headers=False))
except vl.errors.SourceError as error:
    print(error)
"""
    assert "journal: cannot be written" in in_a_process(room, program, folder, path).stdout
    journal = Journal(path)
    assert [journal.get(item) for item in items] == [*rows[:3], None, None, None]
    journal.add(rows[4])
    journal.close()
    journal = Journal(path)
    assert journal.get(items[4]) == rows[4]
    assert journal.get(items[2]) == rows[2]
    journal.close()


def test_a_second_job_on_the_same_output_is_refused(folder, out):
    out.parent.mkdir()
    journal = Journal(out.with_name(f"{out.name}.journal"))
    journal.add(make_row(find_items(folder)[0], headers=False))
    with pytest.raises(vl.errors.SourceError, match="another job is at work on the same output"):
        vl.index_dataset(folder, out, 0)
    assert journal.get(find_items(folder)[0]) is not None
    journal.close()
    assert len(vl.index_dataset(folder, out, 0)) == COUNT


def test_the_lock_goes_with_the_file_that_it_is_of(folder, tmp_path):
    """A job that waited for the end of another finds its own file, not the deleted one."""
    path = tmp_path / "journal"
    first = Journal(path)
    first.add(make_row(find_items(folder)[0], headers=False))
    first.remove()
    second = Journal(path)
    assert second.get(find_items(folder)[0]) is None
    assert path.exists()
    second.close()


def a_large_result(task):
    return task[:10] + "x" * 3_000_000


def test_long_tasks_and_large_results_do_not_wait_for_each_other(monkeypatch):
    """As long as the URLs that some clouds sign."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    tasks = [f"{number:010}" + "u" * length for number, length in enumerate([4000, 200_000] * 40)]
    done = run_tasks("test_mishaps:a_large_result", tasks, workers=1, time_limit=20)
    assert [task[:10] == result[:10] for task, result in done] == [True] * len(tasks)


def test_an_output_that_cannot_be_is_refused_by_name(folder, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(vl.errors.SourceError, match=r"file/set\.parquet: cannot be written"):
        vl.index_dataset(folder, tmp_path / "file" / "set.parquet", 0)
    (tmp_path / "set.parquet").mkdir()
    with pytest.raises(vl.VideoError, match=r"set\.parquet"):
        vl.index_dataset(folder, tmp_path / "set.parquet", 0)
    part = tmp_path / "part.parquet"
    vl.index_dataset(folder, part, 0)
    with pytest.raises(vl.errors.SourceError, match=r"file/all\.parquet: cannot be written"):
        merge_datasets([part], tmp_path / "file" / "all.parquet")


def test_a_file_that_changes_while_it_is_indexed_is_indexed_again(folder, tmp_path, out):
    copy = tmp_path / "clip.mp4"
    copy.write_bytes((folder / "0.mp4").read_bytes())
    item = find_items(copy)[0]
    with item.open() as source:
        before = source.fingerprint
        copy.write_bytes((folder / "0.mp4").read_bytes())
        os.utime(copy, ns=(5, 5))
        assert source.fingerprint == before
        assert vl.index_video(source).fingerprint == before
    assert item.state() != before
    dataset = vl.index_dataset(copy, out, 0)
    copy.write_bytes((folder / "3.mp4").read_bytes())
    with pytest.raises(vl.errors.StaleIndexError):
        vl.Video(dataset.source(0), index=dataset[0])
    assert vl.index_dataset(copy, out, 0)[0].num_frames == 8


def test_a_file_that_is_truncated_while_it_is_open_is_an_error(folder, tmp_path):
    path = tmp_path / "clip.mkv"
    encode_video(path, frames=30, size=(64, 64))
    size = path.stat().st_size
    program = """
from videoloader.indexing import open_source
source = open_source(sys.argv[1])
source.window(0, source.size)
import os; os.truncate(sys.argv[1], int(sys.argv[2]))
for act in (lambda: source.window(0, source.size)[-1], lambda: source.read(0, source.size)):
    try:
        act()
    except vl.errors.SourceError as error:
        print(error)
"""
    for left in (size - 1, 4096, 0):
        os.truncate(path, size)
        told = in_a_process(1 << 20, program, path, left)
        assert told.returncode == 0
        assert told.stdout.count(f"but the file ends at {left}; it is truncated or was") == 2


def test_a_video_that_is_truncated_between_two_reads_does_not_end_the_process(folder, tmp_path):
    path = tmp_path / "clip.mp4"
    encode_video(path, frames=60, size=(64, 64), options={"g": "10"})
    with vl.Video(path) as video:
        assert read_frame_number(video[3].numpy()) == 3
        os.truncate(path, path.stat().st_size // 2)
        with pytest.raises(vl.errors.SourceError, match=r"clip\.mp4.*truncated or was changed"):
            video[55]


# --- Damaged files of a data set


def usable(path):
    """Read everything that a data set index gives."""
    with vl.open_dataset(path) as dataset:
        for number in range(len(dataset)):
            assert dataset[number].num_frames
            dataset.item(number)
        assert dataset.table.num_rows >= len(dataset)
        assert dataset.errors.num_rows == 0


def mutations(data, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        wrong = bytearray(data)
        at = int(rng.integers(len(data)))
        match rng.integers(4):
            case 0:
                wrong[at] ^= 1 << int(rng.integers(8))
            case 1:
                wrong[at : at + 4] = rng.bytes(4)
            case 2:
                del wrong[at : at + 1 + int(rng.integers(16))]
            case _:
                del wrong[at:]
        yield bytes(wrong)


def test_a_damaged_data_set_index_is_refused(folder, out):
    vl.index_dataset(folder, out, 0).close()
    data = out.read_bytes()
    refused = 0
    for wrong in mutations(data, 300, seed=1):
        out.write_bytes(wrong)
        try:
            usable(out)
        except vl.errors.FormatError as error:
            assert "set.parquet" in str(error)
            assert len(str(error).splitlines()) == 1
            refused += 1
        except vl.VideoError as error:
            pytest.fail(f"{type(error).__name__}: {error}")
        assert sorted(os.listdir(out.parent)) in ([out.name], [out.name, f"{out.name}.cache"])
    assert refused > 200


@pytest.mark.parametrize("source", ["nowhere", "nowhere/", "no.where/"])
def test_a_folder_that_is_not_there_leaves_the_data_set_as_it_is(folder, out, source):
    vl.index_dataset(folder, out, 0).close()
    before = out.read_bytes()
    with pytest.raises(vl.errors.SourceError, match="no such folder"):
        vl.index_dataset(str(folder / source) + "/" * source.endswith("/"), out, 0)
    assert out.read_bytes() == before


def test_a_damaged_root_is_refused(folder, out):
    import pyarrow.parquet as pq

    vl.index_dataset(folder, out, 0).close()
    table = pq.read_table(out)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"root": b"\xb1"}), out)
    with pytest.raises(vl.errors.FormatError, match=r"set\.parquet: no data set index"):
        vl.open_dataset(out)


@pytest.mark.parametrize("column", ["path", "member", "offset"])
def test_a_row_of_no_video_is_an_error_of_its_file(folder, out, column):
    import pyarrow as pa
    import pyarrow.parquet as pq

    vl.index_dataset(folder, out, 0).close()
    table = pq.read_table(out)
    at = table.schema.get_field_index(column)
    field = table.schema.field(at)
    pq.write_table(table.set_column(at, field, pa.nulls(len(table), field.type)), out)
    for act in (
        lambda: merge_datasets([out], out.with_name("merged.parquet")),
        lambda: vl.index_dataset(folder, out, 0),
    ):
        with pytest.raises(vl.errors.FormatError, match=r"set\.parquet: no data set index"):
            act()


def test_a_damaged_cache_is_refused_or_made_again(folder, out):
    vl.index_dataset(folder, out, 0).close()
    cache = out.with_name(f"{out.name}.cache")
    data = cache.read_bytes()
    with vl.open_dataset(out) as dataset:
        expected = [dataset[number].packets.tobytes() for number in range(COUNT)]
    refused = again = 0
    for wrong in mutations(data, 300, seed=2):
        cache.write_bytes(wrong)
        try:
            with vl.open_dataset(out) as dataset:
                again += cache.read_bytes() == data
                assert [dataset[i].packets.tobytes() for i in range(len(dataset))] == expected
                assert [dataset.item(i).path for i in range(6)] == [
                    str(folder / f"{i}.mp4") for i in range(6)
                ]
        except vl.errors.FormatError as error:
            assert "cache: damaged" in str(error)
            assert "delete it" in str(error)
            refused += 1
    assert refused > 80
    assert again > 80


def test_a_cache_that_is_truncated_while_it_is_open_is_an_error(folder, out):
    with vl.index_dataset(folder, out, 0) as dataset:
        os.truncate(f"{out}.cache", 100)
        with pytest.raises(vl.errors.FormatError, match="it ends too early"):
            dataset[5]
    with pytest.raises(IndexError):
        dataset[0]


def test_an_index_of_another_version_is_told_from_what_is_none(folder, out):
    import pyarrow.parquet as pq

    vl.index_dataset(folder, out, 0).close()
    table = pq.read_table(out)
    pq.write_table(table.replace_schema_metadata({"videoloader": "1"}), out)
    for act in (vl.open_dataset, lambda path: vl.index_dataset(folder, path, 0)):
        with pytest.raises(
            vl.errors.FormatError, match="another version of videoloader; delete it"
        ):
            act(out)


# --- What another user, or nobody who means well, has put beside a data set


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder such as /tmp; the user's own caches are elsewhere."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    return make_shared(tmp_path / "shared")


def test_a_cache_of_another_user_is_not_read(folder, shared, tmp_path, monkeypatch):
    out, other = shared / "set.parquet", tmp_path / "other.parquet"
    vl.index_dataset(folder, out, 0).close()
    vl.index_dataset(folder / "0.mp4", other, 0).close()
    state = out.stat()
    planted = shared / "set.parquet.cache"
    with vl.open_dataset(other) as dataset:
        assert len(dataset) == 1
    data = bytearray(other.with_name("other.parquet.cache").read_bytes())
    data[8:24] = struct.pack("<QQ", state.st_size, state.st_mtime_ns)
    planted.unlink()
    planted.write_bytes(data)
    with vl.open_dataset(out) as dataset:  # a forged one that is ours
        assert len(dataset) == 1
    give_away(planted, monkeypatch)
    with vl.open_dataset(out) as dataset:
        assert len(dataset) == COUNT


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_is_no_file_is_no_cache(folder, shared, kind):
    out = shared / "set.parquet"
    vl.index_dataset(folder, out, 0).close()
    cache = shared / "set.parquet.cache"
    cache.unlink(missing_ok=True)
    os.mkfifo(cache) if kind == "pipe" else cache.symlink_to(shared / "elsewhere")
    with vl.open_dataset(out) as dataset:
        assert len(dataset) == COUNT
    assert not (shared / "elsewhere").exists()


def test_the_caches_of_a_user_are_for_that_user_alone(folder, shared, tmp_path, monkeypatch):
    out = shared / "set.parquet"
    vl.index_dataset(folder, out, 0).close()
    cache = shared / "set.parquet.cache"
    cache.unlink(missing_ok=True)
    cache.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "user"))
    vl.open_dataset(out).close()
    made = shared / "user" / "videoloader"
    assert made.stat().st_mode & 0o777 == 0o700
    (there,) = made.iterdir()
    give_away(shared / "user", monkeypatch)
    there.write_bytes(b"")
    with vl.open_dataset(out) as dataset:  # from memory
        assert len(dataset) == COUNT
    assert there.read_bytes() == b""


@pytest.mark.parametrize("kind", ["of another user", "link", "pipe", "folder"])
def test_a_journal_that_no_job_of_this_user_made_is_refused(folder, shared, monkeypatch, kind):
    out, mine = shared / "set.parquet", shared.parent / "mine"
    mine.write_text("precious")
    journal = shared / "set.parquet.journal"
    match kind:
        case "of another user":
            journal.touch()
            give_away(journal, monkeypatch)
        case "link":
            journal.symlink_to(mine)
        case "pipe":
            os.mkfifo(journal)
        case "folder":
            journal.mkdir()
    with pytest.raises(vl.errors.SourceError, match=r"set\.parquet\.journal"):
        vl.index_dataset(folder, out, 0)
    assert mine.read_text() == "precious"


# --- Names and folders


def test_names_that_are_no_text_are_kept(folder, tmp_path, out):
    odd = tmp_path / "odd"
    odd.mkdir()
    names = [b"caf\xe9.mp4", "café.mp4".encode(), b"a b%20.mp4", b"new\nline.mp4", b"caf\xe9.tar"]
    for name in names[:4]:
        Path(odd, os.fsdecode(name)).write_bytes((folder / "2.mp4").read_bytes())
    with tarfile.open(Path(odd, os.fsdecode(names[4])), "w") as archive:
        archive.add(folder / "3.mp4", os.fsdecode(b"in\xff.mp4"))
    Path(odd, os.fsdecode(b"bad\xe9.mp4")).write_bytes(b"no video")
    whole = vl.index_dataset(odd, out, 1)
    dataset = whole.videos
    assert len(dataset) == 5
    assert [dataset[i].num_frames for i in range(5)].count(8) == 1
    for number in range(5):
        with vl.Video(dataset.source(number), index=dataset[number]) as video:
            assert read_frame_number(video[4].numpy()) == 4
    (error,) = whole.errors.to_pylist()
    assert "bad\\xe9.mp4" in error["error"]
    done = []
    vl.index_dataset(odd, out, 0, progress=lambda *told: done.append(told))
    assert not done  # all are known by their names


def test_each_folder_is_gone_through_once(folder, tmp_path):
    root = tmp_path / "root"
    (root / "real" / "deep").mkdir(parents=True)
    (root / "real" / "deep" / "clip.mp4").write_bytes(b"x")
    for place in (root, root / "real", root / "real" / "deep"):
        for name in ("a", "z"):
            (place / name).symlink_to(root)
    (root / "aa").symlink_to(root / "real" / "deep")
    (root / "circle.mp4").symlink_to(root / "circle.mp4")
    (root / "nowhere.mp4").symlink_to(root / "none")
    (root / "folder.mp4").mkdir()
    (root / "folder.mp4" / "inside.mp4").write_bytes(b"x")
    (root / "link.mp4").symlink_to(root / "real" / "deep" / "clip.mp4")
    assert [os.path.relpath(item.path, root) for item in find_items(root)] == [
        "folder.mp4/inside.mp4",
        "link.mp4",
        "real/deep/clip.mp4",
    ]


def test_a_folder_that_cannot_be_listed_is_named(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    (tmp_path / "open.mp4").write_bytes(b"x")
    scan = os.scandir

    def refuse(place):
        if place.endswith("closed"):
            raise error
        return scan(place)

    monkeypatch.setattr(os, "scandir", refuse)
    error = OSError(5, "Input/output error")  # of a disk or server: the job can be tried again
    with pytest.raises(vl.errors.SourceError, match="closed: cannot be listed"):
        find_items(tmp_path)
    error = PermissionError(13, "Permission denied")
    assert len(find_items(tmp_path)) == 1  # see test_skipped.py
    with pytest.raises(vl.errors.SourceError, match="closed: cannot be listed"):
        find_items(tmp_path / "closed")


def test_of_a_crowded_folder_only_the_videos_are_kept(tmp_path, monkeypatch):
    class Entry:
        def __init__(self, number):
            self.name = f"{number}.mp4" if number % 1000 == 0 else f"{number}.json"
            self.path = f"{tmp_path}/{self.name}"
            Entry.alive += 1
            Entry.most = max(Entry.most, Entry.alive)

        alive = most = 0

        def __del__(self):
            Entry.alive -= 1

        def is_file(self):
            return True

        def is_dir(self):
            return False

    class Entries:
        def __enter__(self):
            return map(Entry, range(200_000))

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(os, "scandir", lambda _: Entries())
    assert len(find_items(tmp_path)) == 200
    assert Entry.most < 10


def test_a_name_with_a_zero_byte_is_no_file():
    with pytest.raises(vl.errors.SourceError, match="null byte"):
        vl.index_video("clip\0.mp4")


@pytest.mark.parametrize(
    "place",
    ["http://127.0.0.1:9/\udcff.mp4", "/tmp/\ud800.mp4", "http://127.0.0.1:9/" + "a" * (1 << 20)],
    ids=ascii,
)
def test_what_cannot_be_stored_as_a_path_is_refused(out, place):
    with pytest.raises(vl.errors.SourceError, match=r"is no path|is no text, or too long"):
        vl.index_dataset(place, out, 0)


# --- Archives


def packed(*members, **options):
    """A tar archive of (name, bytes)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", **options) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


@pytest.fixture(scope="module")
def clips(folder):
    return [(folder / f"{number}.mp4").read_bytes() for number in range(COUNT)]


@pytest.mark.parametrize("layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_of_equal_and_of_long_names(clips, tmp_path, out, layout):
    long = "/".join(["a-folder-of-some-length"] * 5) + "/clip.mp4"
    if layout != tarfile.USTAR_FORMAT:
        long = "é" * 90 + long
    members = [("same.mp4", clips[0]), ("same.mp4", clips[1]), (long, clips[2]), (long, clips[3])]
    (tmp_path / "a.tar").write_bytes(packed(*members, format=layout))
    dataset = vl.index_dataset(tmp_path / "a.tar", out, 0)
    assert [dataset.item(i).member for i in range(4)] == ["same.mp4", "same.mp4", long, long]
    assert [dataset[i].num_frames for i in range(4)] == [5, 6, 7, 8]
    with vl.Video(dataset.source(1), index=dataset[1]) as video:
        assert len(video) == 6


def test_a_damaged_archive_gives_what_lies_before_and_its_own_error(clips, tmp_path, out):
    data = packed(*((f"{n}.mp4", clip) for n, clip in enumerate(clips)))
    archive = tmp_path / "a.tar"
    archive.write_bytes(data)
    places = [item.offset for item in find_items(archive)]
    header = places[3] - 512
    damaged = data[:header] + b"?" * 512 + data[header + 512 :]
    cases = {
        data[: places[3] + 100]: (3, 1),  # in a member, which is not listed
        data[: header + 100]: (3, 1),
        damaged: (3, 1),
        b"no archive" * 200: (0, 1),
        b"": (0, 1),
        data[: places[2] + -(-len(clips[2]) // 512) * 512]: (3, 0),  # without the zeros at the end
        data + b"rubbish behind its end" * 100: (COUNT, 0),
    }
    for number, (wrong, (good, errors)) in enumerate(cases.items()):
        archive.write_bytes(wrong)
        dataset = vl.index_dataset([archive], out.with_name(f"{number}.parquet"), 0)
        assert (len(dataset.videos), dataset.errors.num_rows) == (good, errors), number
        assert all("a.tar" in row["error"] for row in dataset.errors.to_pylist())
    with pytest.raises(vl.errors.SourceError, match=r"none\.tar"):
        vl.index_dataset(tmp_path / "none.tar", out, 0)


@pytest.mark.parametrize("workers", [0, 1])
def test_values_that_do_not_fit_into_a_column_cost_their_file_alone(folder, out, workers, tmp_path):
    videos = tmp_path / "videos"
    shutil.copytree(folder, videos)
    block = bytearray(tarfile.TarInfo("a.mp4").tobuf())
    block[124:136] = b"\x80" + (2**63).to_bytes(11, "big")
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    (videos / "large.tar").write_bytes(block + bytes(1024))
    late = videos / "1.mp4"
    os.utime(late, ns=(0, 2**63))  # in the year 2262
    for _ in range(2):  # from the journal, and from the earlier file
        with vl.index_dataset(videos, out, workers) as dataset:
            assert len(dataset.videos) == COUNT - 1
            errors = {row["path"]: row["error"] for row in dataset.errors.to_pylist()}
        assert errors.keys() == {"1.mp4", "large.tar"}
        assert "1.mp4: cannot be stored" in errors["1.mp4"]
        assert "mtime_ns is 9223372036854775808" in errors["1.mp4"]
        assert "damaged" in errors["large.tar"]
    os.utime(late)
    with vl.index_dataset(videos, out, workers) as dataset:
        assert len(dataset.videos) == COUNT


WRONG = [2**63, -(2**63) - 1, 2**31, "text", "\udcff", "x" * (1 << 20), 1.5, [], {}, True]


def storable(kind, value):
    """Whether pyarrow itself takes a value in a column."""
    import pyarrow as pa

    if isinstance(value, str) and len(value) == 1 << 20:
        return False  # 4096 of which are too much for a column
    if isinstance(value, bool) != pa.types.is_boolean(kind):
        return False
    try:
        pa.array([value], kind)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError):
        return False
    return True


def test_a_row_has_only_values_that_its_columns_take(folder):
    import pyarrow as pa

    row = make_row(find_items(folder)[0], headers=False)
    kinds = {field.name: field.type for field in schema()}
    checked = 0
    for name in row.facts:
        for value in WRONG:
            if isinstance(value, float) and pa.types.is_integer(kinds[name]):
                continue  # pyarrow drops the fraction of some
            forged = replace(row, facts=row.facts | {name: value}).encode()
            if storable(kinds[name], value):
                assert Row.decode(forged).facts[name] == value
                checked += 1
            else:
                with pytest.raises(vl.errors.FormatError, match=f"no row .*{name}"):
                    Row.decode(forged)
    assert checked > 30


def test_forged_rows_of_a_journal_cost_their_videos_at_most(folder, out):
    items = [item.relative_to(str(folder)) for item in find_items(folder)]
    rows = [make_row(item, headers=False, root=str(folder)) for item in items]
    forged = [
        replace(rows[2], facts=rows[2].facts | {"width": 2**40}),
        replace(rows[2], state=replace(rows[2].state, mtime_ns=2**70)),
        replace(rows[2], error="\udcff", index=b""),
        replace(rows[2], facts={"job": ["find_scenes", 2]}),  # of another job
    ]
    for wrong, check in product(forged, ("size", "none")):
        with suppress(FileNotFoundError):
            out.unlink()
        out.parent.mkdir(exist_ok=True)
        journal = Journal(out.with_name(f"{out.name}.journal"))
        for row in (*rows[:2], wrong, rows[3]):
            journal.add(row)
        journal.close()
        with vl.index_dataset(folder, out, 0, check=check) as dataset:
            is_known = wrong.state is not rows[2].state  # by its size and first bytes
            assert len(dataset.videos) == COUNT - is_known


@pytest.mark.parametrize("layout", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_mutated_archives_give_items(clips, tmp_path, layout):
    members = [(f"{'long/' * 30}é{number}.mp4", clip) for number, clip in enumerate(clips)]
    data = packed(*members, format=layout)
    rng = np.random.default_rng(layout)
    for _ in range(300):
        wrong = bytearray(data)
        at = int(rng.integers(len(data) // 512)) * 512
        wrong[at + int(rng.integers(512))] = int(rng.integers(256))
        if rng.random() < 0.5:  # a header whose check sum holds
            wrong[at + int(rng.integers(100, 500))] = int(rng.choice([*b"0179xSLg", 0x80, 0xFF]))
            total = sum(wrong[at : at + 148]) + 256 + sum(wrong[at + 156 : at + 512])
            wrong[at + 148 : at + 156] = b"%06o\0 " % total
        path = tmp_path / "a.tar"
        path.write_bytes(wrong)
        for item in find_items(path):
            try:
                item.open().close()
            except vl.VideoError as error:
                assert "a.tar" in str(error)


def test_sparse_members_are_refused_one_by_one(folder, tmp_path, out):
    holey = tmp_path / "holey.mp4"
    data = (folder / "1.mp4").read_bytes()
    with open(holey, "wb") as file:
        file.write(data)
        file.seek(1 << 20)
        file.write(b"\0\0\0\x08free")
    for layout in ("gnu", "posix"):
        archive = tmp_path / f"{layout}.tar"
        command = ["tar", "-S", f"--format={layout}", "-C", tmp_path, "-cf", archive, "holey.mp4"]
        subprocess.run([*command, "-C", folder, "2.mp4"], check=True)
        assert archive.stat().st_size < 200_000
        dataset = vl.index_dataset(archive, out.with_name(f"{layout}.parquet"), 0)
        assert [index.num_frames for index in dataset.videos] == [7]
        (error,) = dataset.errors.to_pylist()
        assert "holey.mp4: stored with holes" in error["error"]
