"""Data that is moved, copied or changed: which index still holds, and how files are found."""

import json
import os
import pickle
import shutil
import struct
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.decoding.check import check_dataset
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import Item, cache, find_items, merge_datasets
from videoloader.indexing.dataset.rows import begin_row
from videoloader.indexing.index import encode_index


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("original") / "data"
    for name in ("cats/0.mp4", "cats/1.mkv", "dogs/0.mp4"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        encode_video(folder / name, frames=6 + len(name) + ord(name[-5]) % 7, size=(64, 64))
    (folder / "cats" / "bad.mp4").write_bytes(b"no video")
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "data"))


@pytest.fixture
def counted(monkeypatch):
    """Names of the videos that jobs index, as they do so."""
    from videoloader.indexing.dataset import rows

    seen = []

    def count(item, **options):
        seen.append(Path(item.path).name)
        return begin_row(item, **options)

    monkeypatch.setattr(rows, "begin_row", count)
    return seen


def later(path, seconds=1000):
    """Give a file another time of change."""
    time = path.stat().st_mtime_ns + seconds * 10**9
    os.utime(path, ns=(time, time))


def changed(path, at):
    """Change one byte of a file, and its time."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    later(path)


def opens(path, index):
    vl.Video(path, index=index).close()


# --- Which file is the one that was indexed


def test_size_and_first_bytes_tell_a_file(original, tmp_path):
    path = tmp_path / "clip.mp4"
    shutil.copyfile(original / "cats/0.mp4", path)
    index = vl.index_video(path)
    strict, trusting = replace(index, checks="mtime"), replace(index, checks="none")
    for each in (index, strict, trusting):
        opens(path, each)
    later(path)
    opens(path, index)
    with pytest.raises(
        vl.errors.StaleIndexError, match=r"clip\.mp4: .*its time of change differs;"
    ):
        opens(path, strict)
    changed(path, at=4095)
    for each in (index, pickle.loads(pickle.dumps(index))):
        with pytest.raises(vl.errors.StaleIndexError, match=r"clip\.mp4: .*its first bytes differ"):
            opens(path, each)
    opens(path, trusting)
    data = path.read_bytes()
    path.write_bytes(data + b"?")
    said = rf"its size differs \({len(data)} bytes then, {len(data) + 1} now\)"
    for each in (index, strict):
        with pytest.raises(vl.errors.StaleIndexError, match=said):
            opens(path, each)
    opens(path, trusting)


def test_bytes_and_open_files_are_told_by_their_first_bytes(original):
    data = (original / "cats/0.mp4").read_bytes()
    index = vl.index_video(data)
    opens(data, index)
    with open(original / "cats/0.mp4", "rb") as file:
        opens(file, index)
    with pytest.raises(vl.errors.StaleIndexError, match="its first bytes differ"):
        opens(data[:50] + b"?" + data[51:], index)


def test_a_file_whose_time_is_the_same_is_not_read_to_tell_it(original, monkeypatch):
    path = original / "cats/0.mp4"
    index = vl.index_video(path)
    from videoloader.sources.source import Source

    monkeypatch.setattr(Source, "head", property(lambda self: pytest.fail("it was read")))
    opens(path, index)


def old_index(index):
    """The bytes of an index as they were before there was a hash of first bytes."""
    data = encode_index(index)
    _, *lengths = struct.unpack_from("<4I", data)
    head = json.loads(data[16 : 16 + lengths[0]])
    del head["fingerprint"]["head"]
    text = json.dumps(head).encode()
    body = text + data[16 + lengths[0] :]
    return struct.pack("<4I", zlib.crc32(body), len(text), *lengths[1:]) + body


def test_older_indexes_are_read_and_say_what_they_do_not_know(folder, tmp_path):
    path = folder / "cats/0.mp4"
    stored = tmp_path / "old.index"
    stored.write_bytes(b"VLINDEX3" + zlib.compress(old_index(vl.index_video(path))))
    index = vl.VideoIndex.load(stored)
    assert index.num_frames == vl.index_video(path).num_frames
    opens(path, index)
    later(path)
    with pytest.raises(vl.errors.StaleIndexError, match="no hash of its first bytes is known"):
        opens(path, index)


def test_older_data_set_indexes_are_read_merged_and_taken_over(folder, tmp_path, counted):
    import pyarrow as pa
    import pyarrow.parquet as pq

    out, old = tmp_path / "new.parquet", tmp_path / "old.parquet"
    vl.index_dataset([folder / "cats", folder / "dogs"], out, 0).close()  # absolute paths
    table = pq.read_table(out).drop_columns(["key", "head", "error_kind"])
    blobs = [
        None if row["error"] else old_index(vl.index_video(row["path"]))
        for row in table.to_pylist()
    ]
    place = table.schema.get_field_index("index")
    table = table.set_column(place, table.schema.field("index"), pa.array(blobs, pa.large_binary()))
    pq.write_table(table.replace_schema_metadata({"videoloader": "3"}), old)
    dataset = vl.open_dataset(old)
    assert dataset.videos.rows.tolist() == [0, 1, 3]
    assert dataset.keys == dataset.table["path"].to_pylist()
    assert dataset.errors["error_kind"].to_pylist() == [None]
    assert dataset.table.column_names == vl.open_dataset(out).table.column_names
    with pytest.raises(vl.VideoError, match=r"bad\.mp4"):
        dataset[2]
    assert len(merge_datasets([old], tmp_path / "merged.parquet").videos) == 3
    counted.clear()
    again = vl.index_dataset(folder, old, 0)
    assert counted == ["bad.mp4"]  # of which no kind is known
    assert len(again.videos) == 3


# --- Roots


def test_a_data_set_with_a_root_can_be_moved(folder, tmp_path, counted):
    out = tmp_path / "set.parquet"
    made = vl.index_dataset(folder, out, 0, root=folder)
    names = ["cats/0.mp4", "cats/1.mkv", "cats/bad.mp4", "dogs/0.mp4"]
    assert sorted(made.keys) == made.table["path"].to_pylist() == names
    assert str(tmp_path) not in repr(made.table.to_pylist())
    assert made.item(0) == Item(str(folder / "cats/0.mp4"))
    moved = tmp_path / "elsewhere" / "copy"
    shutil.copytree(folder, moved, copy_function=shutil.copyfile)
    for path in moved.rglob("*.m*"):
        later(path)
    shutil.rmtree(folder)
    gone = vl.open_dataset(out)
    told = r"data/cats/0\.mp4: No such file .*open_dataset\(path, root=folder\)"
    for read in (
        lambda: gone.source(0),
        lambda: vl.Video(gone.item(0)),
        lambda: next(iter(vl.Loader(gone, vl.UniformClip(1), batch_size=1, workers=0))),
        lambda: vl.ClipDataset(gone, vl.UniformClip(1))[0],
        lambda: vl.map_clips(gone, len, tmp_path / "l.parquet", workers=0, on_error="raise"),
    ):
        with pytest.raises(vl.errors.SourceError, match=told):
            read()
    dataset = pickle.loads(pickle.dumps(vl.open_dataset(out, root=moved)))
    for row in dataset.videos.rows.tolist():
        assert dataset[row].name == dataset.item(row).path == str(moved / names[row])
        with vl.Video(dataset.source(row), index=dataset[row]) as video:
            assert len(video) == dataset[row].num_frames
    with pytest.raises(vl.errors.FormatError, match=f"^{moved}/cats/bad.mp4: "):
        dataset[2]
    counted.clear()
    again = vl.index_dataset(moved, out, 0, root=moved)
    assert counted == ["bad.mp4"]
    assert [index.num_frames for index in again.videos] == [i.num_frames for i in made.videos]
    strict = vl.open_dataset(out, root=moved, check="mtime")
    with pytest.raises(vl.errors.StaleIndexError, match="its time of change"):
        opens(strict.item(0).path, strict[0])


def test_the_index_of_one_folder_can_be_moved_without_a_thought_beforehand(folder, tmp_path):
    out = tmp_path / "set.parquet"
    vl.index_dataset([folder], out, 0).close()
    moved = tmp_path / "elsewhere"
    folder.rename(moved)
    dataset = vl.open_dataset(out, root=moved)
    assert dataset.keys == ["cats/0.mp4", "cats/1.mkv", "cats/bad.mp4", "dogs/0.mp4"]
    for row in dataset.videos.rows.tolist():
        opens(dataset.source(row), dataset[row])
    with pytest.raises(vl.errors.FormatError, match=f"^{moved}/cats/bad.mp4: "):
        dataset[2]
    with pytest.raises(vl.errors.FormatError, match=f"^{moved}/cats/bad.mp4: "):
        vl.index_dataset(moved, tmp_path / "other.parquet", 0, on_error="raise")
    (batch,) = vl.Loader(dataset, vl.UniformClip(1), batch_size=3, workers=0)
    assert batch["sample"].tolist() == [0, 1, 3]


@pytest.mark.parametrize("form", ["two folders", "files", "glob", "list"])
def test_paths_of_anything_but_one_folder_are_absolute(folder, tmp_path, form):
    (folder / "list.txt").write_text("cats/0.mp4\ndogs/0.mp4\n")
    sources = {
        "two folders": [folder / "cats", folder / "dogs"],
        "files": [folder / "cats/0.mp4", folder / "dogs/0.mp4"],
        "glob": str(folder / "*/0.mp4"),
        "list": folder / "list.txt",
    }[form]
    dataset = vl.index_dataset(sources, tmp_path / "set.parquet", 0)
    assert dataset.root is None
    assert {str(folder / "cats/0.mp4"), str(folder / "dogs/0.mp4")} <= {*dataset.keys}


def test_labels_weights_and_columns_are_found_by_whole_paths_too(folder, tmp_path):
    """Tables that were made for absolute paths go on to work."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    dataset = vl.index_dataset(folder, tmp_path / "set.parquet", 0)
    paths = [str(folder / dataset.keys[row]) for row in dataset.videos.rows]
    pq.write_table(
        pa.table({"path": paths, "label": [5, 6, 7], "caption": ["a", "b", "c"]}),
        tmp_path / "table.parquet",
    )
    options = {
        "labels": vl.LabelColumn(tmp_path / "table.parquet"),
        "columns": vl.TableColumns(tmp_path / "table.parquet"),
    }
    (batch,) = vl.Loader(dataset, vl.UniformClip(1), batch_size=3, workers=0, **options)
    assert batch["labels"].tolist() == [5, 6, 7]
    assert batch["caption"] == ["a", "b", "c"]
    weights = dict(zip(paths, [0, 1, 0], strict=True))
    (batch,) = vl.Loader(dataset, vl.UniformClip(1), batch_size=3, workers=0, weights=weights)
    assert batch["sample"].tolist() == [1, 1, 1]


def test_a_file_that_was_never_of_a_data_set_is_told_as_it_is(tmp_path):
    for read in (vl.Video, lambda path: Item(path).open()):
        with pytest.raises(vl.errors.SourceError, match=r"none\.mp4: No such file or directory$"):
            read(str(tmp_path / "none.mp4"))


def test_a_file_inside_its_root_moves_with_it(folder, tmp_path):
    (folder / "indexes").mkdir()
    vl.index_dataset(folder, folder / "indexes" / "set.parquet", 0, root=folder).close()
    moved = tmp_path / "moved"
    folder.rename(moved)
    dataset = vl.open_dataset(moved / "indexes" / "set.parquet")
    assert dataset.root == str(moved)
    assert [Path(dataset.videos.item(i).path).exists() for i in range(3)] == [True] * 3


def test_the_file_does_not_depend_on_where_the_root_is(folder, tmp_path):
    copy = tmp_path / "another" / "place"
    shutil.copytree(folder, copy)  # which keeps times
    for root in (folder, copy):
        vl.index_dataset(root, root / "set.parquet", 1, root=root).close()
    assert (folder / "set.parquet").read_bytes() == (copy / "set.parquet").read_bytes()


def test_paths_elsewhere_and_roots_of_absolute_paths_are_refused(folder, tmp_path):
    out = tmp_path / "set.parquet"
    with pytest.raises(vl.errors.ArgumentError, match=r"dogs/.*not under the root.*cats"):
        vl.index_dataset(folder, out, 0, root=folder / "cats")
    vl.index_dataset([folder / "cats", folder / "dogs"], out, 0).close()
    with pytest.raises(vl.errors.ArgumentError, match=r"set\.parquet: its paths are absolute"):
        vl.open_dataset(out, root=folder)
    for act in (vl.open_dataset, lambda path, check: vl.index_dataset(folder, path, check=check)):
        with pytest.raises(vl.errors.ArgumentError, match="check must be one of size, mtime, none"):
            act(out, check="time")


OUTSIDE = ["../secret.mp4", "cats/../../secret.mp4", "link/../secret.mp4", "{secret}", "cats/.."]
OUTSIDE += ["file://{secret}", "file:..%2Fsecret.mp4", "file:%2e%2e/secret.mp4", "file:{secret}"]
OUTSIDE += ["https://host/secret.mp4", "s3://bucket/secret.mp4", "FILE://{secret}", "..", "/"]


@pytest.fixture
def forged(folder, tmp_path):
    """Writes another path into the second row of a data set index of a folder."""
    shutil.copy(folder / "cats/0.mp4", tmp_path / "secret.mp4")
    (tmp_path / "elsewhere" / "below").mkdir(parents=True)
    shutil.copy(folder / "cats/0.mp4", tmp_path / "elsewhere" / "secret.mp4")
    (folder / "link").symlink_to(tmp_path / "elsewhere" / "below")
    out = tmp_path / "set.parquet"

    def forge(path):
        vl.index_dataset(folder / "cats", out, 0, root=folder).close()
        table = pq.read_table(out)
        paths = table["path"].to_pylist()
        paths[1] = path.format(secret=tmp_path / "secret.mp4")
        at = table.schema.get_field_index("path")
        pq.write_table(table.set_column(at, table.schema.field(at), [paths]), out)
        return out

    return forge


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_stored_path_leads_out_of_the_root(folder, forged, tmp_path, path):
    out = forged(path)
    for root in (folder, None):
        with vl.open_dataset(out, root=root) as dataset:
            assert dataset[0].num_frames
            dataset.source(0).close()
            for act in (dataset.item, dataset.source, dataset.__getitem__):
                with pytest.raises(
                    vl.errors.FormatError, match=r"set\.parquet: .* leads out of the root"
                ):
                    act(1)
    loader = vl.Loader(str(out), vl.UniformClip(2), batch_size=1, workers=0)
    with pytest.raises(vl.errors.FormatError, match="leads out of the root"), loader:
        list(loader)
    with pytest.raises(vl.errors.FormatError, match="leads out of the root"):
        check_dataset(vl.open_dataset(out), tmp_path / "damage.parquet", workers=0)


@pytest.mark.parametrize("root", ["s3://bucket/set", "https://host/set"])
@pytest.mark.parametrize(
    "path",
    [
        *("../a.mp4", "%2e%2e/a.mp4", "b/%2E./%2e%2e/a.mp4", "..\\a.mp4", "%2e%2e%5ca.mp4"),
        *("/a.mp4", "//other/a.mp4", "https://other/a.mp4", "file:///etc/passwd"),
        "file:%2e%2e/a.mp4",
    ],
)
def test_no_stored_path_leads_out_of_a_url(root, path):
    with pytest.raises(vl.errors.FormatError, match="leads out of the root"):
        Item(path).under(root)


def test_names_with_dots_are_inside(folder):
    for path in ("..a.mp4", "a...mp4", "b../a.mp4", "./a.mp4", ".../a.mp4"):
        assert Item(path).under(str(folder)).path == f"{folder}/{path}"
        assert Item(path).under("s3://bucket/set").path == f"s3://bucket/set/{path}"


def test_a_root_given_later_takes_over_what_is_known(folder, tmp_path, counted):
    out = tmp_path / "set.parquet"
    for root in (None, folder, None):
        dataset = vl.index_dataset(folder, out, 0, root=root)
        expected = tmp_path / "expected.parquet"
        expected.unlink(missing_ok=True)
        vl.index_dataset(folder, expected, 0, root=root).close()
        assert out.read_bytes() == expected.read_bytes()
        assert dataset[0].name == str(folder / "cats/0.mp4")
    assert counted.count("0.mp4") == 2 + 3 * 2  # by the first job, and those that are compared with


def test_names_that_are_no_text_have_relative_paths_too(folder, tmp_path):
    for name in (b"caf\xe9.mp4", b"file:b%20.mp4"):
        shutil.copy(folder / "cats/0.mp4", Path(folder, os.fsdecode(name)))
    dataset = vl.index_dataset(folder, tmp_path / "set.parquet", 1, root=folder)
    assert len(dataset.videos) == 5
    for number, index in enumerate(dataset.videos):
        opens(dataset.videos.source(number), index)
    assert find_items(folder) == [dataset.item(i) for i in range(6)]


def test_archives_have_relative_paths_too(folder, tmp_path):
    import tarfile

    with tarfile.open(folder / "a.tar", "w") as tar:
        tar.add(folder / "cats/0.mp4", "x.mp4")
    dataset = vl.index_dataset(folder / "a.tar", tmp_path / "set.parquet", 0, root=folder)
    moved = tmp_path / "moved"
    folder.rename(moved)
    dataset = vl.open_dataset(dataset.path, root=moved)
    assert dataset.keys == ["a.tar/x.mp4"]
    opens(dataset.source(0), dataset[0])


@pytest.mark.parametrize("root", ["s3://bucket/set", "https://host/set"])
def test_urls_are_relative_to_a_url(root):
    item = Item(f"{root}/cats/0.mp4", listed=None)
    assert item.relative_to(root) == Item("cats/0.mp4")
    assert item.relative_to(root).under("/data") == Item("/data/cats/0.mp4")
    assert Item("cats/0.mp4").under(root) == item
    with pytest.raises(vl.errors.ArgumentError, match="not under the root"):
        Item(f"{root}s/cats/0.mp4").relative_to(root)


def test_a_change_is_indexed_again_by_what_check_says(folder, tmp_path, counted):
    out = tmp_path / "set.parquet"
    vl.index_dataset(folder, out, 0).close()

    def job(check="size"):
        counted.clear()
        vl.index_dataset(folder, out, 0, check=check).close()
        return counted

    later(folder / "cats/0.mp4")
    assert job() == []
    assert job("none") == []
    assert job("mtime") == ["0.mp4"]
    changed(folder / "dogs/0.mp4", at=3000)
    assert job("none") == []
    assert job() == ["0.mp4"]
    later(folder / "cats/bad.mp4")  # what could not be read may be whole now
    assert job() == ["bad.mp4"]


def test_a_file_that_was_indexed_while_it_was_written_is_indexed_again(folder, tmp_path, counted):
    """Downloads may have their full size, and their first bytes, from the beginning."""
    whole = (folder / "cats/1.mkv").read_bytes()
    (folder / "cats/1.mkv").write_bytes(whole[: len(whole) // 2])
    out = tmp_path / "set.parquet"
    dataset = vl.index_dataset(folder, out, 0)
    assert "1.mkv" in dataset.table["warnings"][1].as_py()
    later(folder / "cats/1.mkv")
    counted.clear()
    vl.index_dataset(folder, out, 0).close()
    assert counted == ["1.mkv"]


# --- Merging


def test_a_part_is_merged_once(folder, tmp_path):
    parts = [tmp_path / f"{number}.parquet" for number in range(2)]
    for number, part in enumerate(parts):
        vl.index_dataset(folder, part, 0, shard=(number, 2)).close()
    copy = shutil.copy(parts[0], tmp_path / "copy.parquet")
    for wrong in ([*parts, parts[0]], [parts[1], parts[1]], [copy, parts[0]]):
        with pytest.raises(
            vl.errors.ArgumentError, match=r"\.mp4 is in .*parquet and in .*parquet"
        ):
            merge_datasets(wrong, tmp_path / "all.parquet")
    assert not (tmp_path / "all.parquet").exists()
    assert len(merge_datasets(parts, tmp_path / "all.parquet")) == 4


def test_merged_parts_keep_their_root(folder, tmp_path):
    whole = tmp_path / "whole.parquet"
    vl.index_dataset(folder, whole, 0, root=folder).close()
    parts = [tmp_path / f"{number}.parquet" for number in range(2)]
    for number, part in enumerate(parts):
        vl.index_dataset(folder, part, 0, root=folder, shard=(number, 2)).close()
    assert merge_datasets(parts, tmp_path / "all.parquet").root == str(folder)
    assert (tmp_path / "all.parquet").read_bytes() == whole.read_bytes()
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    vl.index_dataset(other, parts[1], 0, root=other, shard=(1, 2)).close()
    with pytest.raises(vl.errors.ArgumentError, match="the roots of the parts differ"):
        merge_datasets(parts, tmp_path / "no.parquet")
    merged = merge_datasets(parts, tmp_path / "no.parquet", root=other)
    assert [merged.item(i).path.startswith(str(other)) for i in range(4)] == [True] * 4
    vl.index_dataset([folder / "dogs/0.mp4"], parts[1], 0).close()
    with pytest.raises(vl.errors.ArgumentError, match="parts without a root"):
        merge_datasets(parts, tmp_path / "no2.parquet")


def test_parts_of_several_folders_are_merged_with_absolute_paths(folder, tmp_path):
    whole = tmp_path / "whole.parquet"
    sources = [folder / "cats", folder / "dogs"]
    expected = vl.index_dataset(sources, whole, 0)
    parts = [tmp_path / "cats.parquet", tmp_path / "dogs.parquet"]
    for source, part in zip(sources, parts, strict=True):
        assert vl.index_dataset(source, part, 0).root == str(source)
    merged = merge_datasets(parts, tmp_path / "all.parquet")
    assert merged.root is None
    assert merged.table == expected.table
    assert (tmp_path / "all.parquet").read_bytes() == whole.read_bytes()
    vl.index_dataset([folder / "dogs/0.mp4"], parts[1], 0).close()
    assert merge_datasets(parts, tmp_path / "all.parquet").table == expected.table


# --- Caches


@pytest.fixture
def read_only(folder, tmp_path, monkeypatch):
    """A data set index beside which nothing can be written, and the user's folder for caches."""
    out = tmp_path / "mount" / "set.parquet"
    vl.index_dataset(folder, out, 0).close()
    out.with_name("set.parquet.cache").unlink()
    user = tmp_path / "user"
    monkeypatch.setenv("XDG_CACHE_HOME", str(user))
    whole = cache.written_whole

    def refuse(target):
        if target.parent == out.parent or (user.exists() and not user.is_dir()):
            raise vl.errors.SourceError(f"{target}: cannot be written (Read-only file system)")
        return whole(target)

    monkeypatch.setattr(cache, "written_whole", refuse)
    return out, user


def test_a_data_set_on_a_read_only_mount_has_its_cache_elsewhere(read_only):
    out, user = read_only
    with vl.open_dataset(out) as dataset:
        assert dataset.videos.rows.tolist() == [0, 1, 3]
        assert dataset[0].num_frames
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    (made,) = (user / "videoloader").iterdir()
    time = made.stat().st_mtime_ns
    vl.open_dataset(out).close()
    assert made.stat().st_mtime_ns == time
    later(out)
    vl.open_dataset(out).close()
    assert made.stat().st_mtime_ns != time
    assert len(list((user / "videoloader").iterdir())) == 1


def open_files():
    """What this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the one that lists them
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(found)


def test_a_cache_that_can_be_written_nowhere_is_kept_in_memory(read_only):
    out, user = read_only
    user.write_text("no folder")
    vl.open_dataset(out).close()
    descriptors = open_files()
    with pickle.loads(pickle.dumps(vl.open_dataset(out))) as dataset:
        assert dataset.videos.rows.tolist() == [0, 1, 3]
        assert [index.num_frames > 0 for index in dataset.videos] == [True] * 3
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert open_files() == descriptors


# --- The command


def test_the_command_takes_roots_and_checks(folder, tmp_path):
    run, out = CliRunner().invoke, str(tmp_path / "set.parquet")
    words = ["index", str(folder), "-o", out, "--workers", "0", "--root", str(folder)]
    assert run(app, words).exit_code == 1  # of the bad one
    assert vl.open_dataset(out).keys[0] == "cats/0.mp4"
    moved = str(tmp_path / "moved")
    folder.rename(moved)
    assert run(app, [*words[:3], out, "--check", "wrong"]).exit_code == 2
    assert run(app, ["check", out, "--workers", "0"]).exit_code == 1
    assert run(app, ["check", out, "--workers", "0", "--root", moved]).exit_code == 0
    result = run(app, ["merge", out, "-o", str(tmp_path / "m.parquet"), "--root", moved])
    assert result.exit_code == 0
    assert vl.open_dataset(tmp_path / "m.parquet").root == moved
