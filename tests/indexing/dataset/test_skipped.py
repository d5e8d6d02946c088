"""What the listing of a data set passes over is kept in its file, by path and reason."""

import os
import shutil
import tarfile

import numpy as np
import pyarrow.parquet as pq
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import find_items, merge_datasets
from videoloader.indexing.dataset.skipped import BROKEN, HIDDEN, PACKED, UNREADABLE, Skipped


@pytest.fixture
def folder(tmp_path):
    """Three videos, one of them in an archive, and all that is no video."""
    folder = tmp_path / "videos"
    (folder / "deep").mkdir(parents=True)
    encode_video(folder / "a.mp4", codec="mpeg4", frames=3, size=(32, 32))
    shutil.copy(folder / "a.mp4", folder / "deep/b.mp4")
    for name in ("deep/more.tar.gz", "deep/notes.txt", "1.jpg", "README"):
        (folder / name).touch()
    for name in (".cache/2.mp4", "deep/._b.mp4"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(folder / "a.mp4", folder / name)
    (folder / "gone.mp4").symlink_to("nowhere")
    with tarfile.open(folder / "c.tar", "w") as archive:
        archive.add(folder / "a.mp4", "./x.mp4")
        archive.add(folder / "a.mp4", "./._x.mp4")
        archive.add(folder / "1.jpg", "x.jpg")
    (folder / "deep/again").symlink_to(folder)
    return folder


EXPECTED = {
    ("deep/more.tar.gz", PACKED),
    ("gone.mp4", BROKEN),
    ("deep/again", "links to folders gone through already"),
    ("deep/notes.txt", "with the ending .txt"),
    ("README", "without an ending"),
    (".cache", HIDDEN),
    ("deep/._b.mp4", HIDDEN),
    ("c.tar/./._x.mp4", HIDDEN),
    ("1.jpg", "with the ending .jpg"),
    ("c.tar/x.jpg", "with the ending .jpg"),
}


def test_what_was_skipped_is_in_the_file(folder, tmp_path):
    """Paths are relative to the root, so a moved data set has the same."""
    out = tmp_path / "set.parquet"
    vl.index_dataset(folder, out, 0).close()
    folder.rename(tmp_path / "moved")
    with vl.open_dataset(out, root=tmp_path / "moved") as dataset:
        assert {*dataset.skipped} == EXPECTED
        assert len(dataset.skipped) == len(EXPECTED)
        assert dataset.skipped.counts["with the ending .jpg"] == 2
        assert "2 with the ending .jpg" in str(dataset.skipped)
        lost = {path for path, _ in dataset.skipped.lost()}
        assert lost == {"gone.mp4", "deep/more.tar.gz"}
        dataset.filter(min_frames=1).write(tmp_path / "part.parquet")
    with vl.open_dataset(tmp_path / "part.parquet") as part:
        assert not part.skipped


def test_a_resumed_job_in_the_folder_of_its_videos_gives_the_same_file(folder):
    out = folder / "set.parquet"
    vl.index_dataset(folder, out, 0).close()
    expected = out.read_bytes()
    for path in folder.glob("set.parquet*"):
        path.unlink()
    (folder / "set.parquet.journal").touch()  # as a killed job leaves it
    vl.index_dataset(folder, out, 0).close()
    assert out.read_bytes() == expected


def test_a_hidden_folder_that_is_named_is_listed(folder):
    assert [item.path for item in find_items(folder / ".cache")] == [f"{folder}/.cache/2.mp4"]


def test_other_readers_of_the_file_are_not_disturbed(folder, tmp_path):
    (
        folder
        / "naïve \udcff.jpg".encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    ).touch()
    out = tmp_path / "set.parquet"
    vl.index_dataset(folder, out, 0).close()
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    assert polars.read_parquet(out).height == 3
    assert duckdb.sql(f"select count(*) from '{out}'").fetchall() == [(3,)]
    with vl.open_dataset(out) as dataset:
        assert any("%FF.jpg" in path for path, _ in dataset.skipped)


def test_shards_and_their_merger_have_what_the_whole_has(folder, tmp_path):
    parts = [tmp_path / f"{part}.parquet" for part in range(2)]
    for part, path in enumerate(parts):
        vl.index_dataset(folder, path, 0, shard=(part, 2)).close()
    with merge_datasets(parts, tmp_path / "all.parquet") as merged:
        assert {*merged.skipped} == EXPECTED
        assert len(merged.skipped) == len(EXPECTED)


def test_merged_folders_have_what_each_of_them_has(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(folder / "a.mp4", other)
    (other / "2.jpg").touch()
    parts = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for place, path in zip((folder, other), parts, strict=True):
        vl.index_dataset(place, path, 0).close()
    with merge_datasets(parts, tmp_path / "all.parquet") as merged:
        paths = {path for path, _ in merged.skipped}
        assert paths == {*(f"{folder}/{path}" for path, _ in EXPECTED), f"{other}/2.jpg"}
        assert merged.skipped.counts["with the ending .jpg"] == 3


def test_a_folder_that_may_not_be_read_is_skipped(folder, monkeypatch):
    scandir = os.scandir

    def refusing(place):
        if str(place).endswith("deep"):
            raise PermissionError(13, "Permission denied", place)
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refusing)
    skipped = Skipped()
    assert len(find_items(folder, skipped)) == 2
    assert (f"{folder}/deep", UNREADABLE) in [*skipped]


def test_a_thousand_paths_of_a_reason_are_kept_whatever_their_order():
    names = [f"{number:05}.jpg" for number in range(7_919)]
    skipped = Skipped()
    for number in np.random.default_rng(0).permutation(len(names)).tolist():
        skipped.add("with the ending .jpg", names[number])
    kept = Skipped.decode(skipped.encode())
    assert [path for path, _ in kept] == names[:1000]
    assert len(kept) == len(names)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"[]",
        b"[{}, []]",
        b"[[], {}]",
        b'[{"a": []}, {}]',
        b'[{"a": Infinity}, {}]',
        b'[{}, {"a": 3}]',
        b'[{}, {"a": [[]]}]',
        b"nothing",
        b"\xff",
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_is_no_record_of_skipped_files_is_an_error_of_the_data_set(folder, tmp_path, data):
    vl.index_dataset(folder, tmp_path / "set.parquet", 0).close()
    table = pq.read_table(tmp_path / "set.parquet")
    facts = {**table.schema.metadata, b"skipped": data}
    pq.write_table(
        table.replace_schema_metadata(facts), tmp_path / "set.parquet", write_page_checksum=True
    )
    with (
        vl.open_dataset(tmp_path / "set.parquet") as dataset,
        pytest.raises(vl.errors.FormatError, match=r"set\.parquet: no data set index"),
    ):
        str(dataset.skipped)
