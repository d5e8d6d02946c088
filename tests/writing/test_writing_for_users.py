"""What is written where no file can be."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.demo.videos import encode_video
from videoloader.machinery.system.writing import check_target, written_whole


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "videos").mkdir()
    encode_video(tmp_path / "videos" / "a.mp4", frames=3, size=(160, 120), codec="mpeg4")
    return tmp_path / "videos"


@pytest.fixture
def device(tmp_path):
    """Something that is no regular file, as /dev/null is none, in a folder of our own."""
    path = tmp_path / "dev" / "null"
    path.parent.mkdir()
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("command", ["index", "check", "merge"])
def test_commands_that_write_to_a_device_leave_no_journal(folder, tmp_path, device, command):
    index = tmp_path / "set.parquet"
    vl.index_dataset(folder, index, 0).close()
    source = folder if command == "index" else index
    result = CliRunner().invoke(app, [command, str(source), "-o", str(device)])
    assert result.exit_code == 2
    assert "no regular file" in result.output
    assert os.listdir(device.parent) == ["null"]
    assert device.is_fifo()


@pytest.mark.parametrize("command", ["index", "check", "merge", "scenes", "dedupe", "score"])
def test_tables_are_parquet_files_and_named_so(folder, tmp_path, command):
    index = tmp_path / "set.parquet"
    vl.index_dataset(folder, index, 0).close()
    before = sorted(tmp_path.iterdir())
    result = CliRunner().invoke(app, [command, str(index), "-o", str(tmp_path / "x.csv")])
    assert result.exit_code == 2
    assert "x.csv: the name of a Parquet table ends in .parquet" in result.output
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_is_not_written_to(tmp_path):
    with (
        pytest.raises(vl.errors.SourceError, match="is a folder; name a file to write"),
        written_whole(tmp_path),
    ):
        raise AssertionError("not reached")


def test_a_job_that_did_nothing_leaves_no_journal(folder, tmp_path):
    out = tmp_path / "out.parquet"
    out.write_bytes(b"something else")
    with pytest.raises(vl.errors.FormatError, match="no data set index"):
        vl.index_dataset(folder, out, 0)
    assert out.read_bytes() == b"something else"
    assert not (tmp_path / "out.parquet.journal").exists()


@pytest.mark.parametrize("place", [b"a\xff.parquet", b"a\xff/set.parquet"])
def test_names_of_tables_are_text(folder, tmp_path, place):
    out = os.fsdecode(os.fsencode(tmp_path) + b"/" + place)
    with pytest.raises(vl.errors.ArgumentError, match=r"a\\xff.*is text in UTF-8"):
        vl.index_dataset(folder, out, 0)


@pytest.mark.parametrize("place", ["s3://bucket/set.parquet", "https://host/set.parquet"])
def test_urls_are_no_targets(place):
    with pytest.raises(vl.errors.SourceError, match="is a URL; name a file on this machine"):
        check_target(Path(place))
