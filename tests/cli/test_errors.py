"""Errors of the commands name options as they are typed, not the arguments that they set."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app

# What is typed, what the error says, and what it says no longer.
TYPED = [
    ("index . -o x.parquet --check foo", "--check must be one of size, mtime, none", "check must"),
    ("index . -o x.parquet --shard 5/2", "--shard is one of 0/n to n-1/n", " shard"),
    ("join set.parquet captions.csv -o x.parquet", "and --missing 'drop' leaves", "missing="),
    ("join set.parquet captions.csv -o x.parquet", "; --on says what of a video", "; on= says"),
    ("join set.parquet captions.csv -o x.parquet --key foo", "; --key names the one", "key="),
    ("sample a.mp4 --color-range foo", "--color-range must be one of auto", "color_range"),
    ("report set.parquet --segments a.csv --segment-unit foo", "--segment-unit must", " unit"),
    ("score set.parquet -o x.parquet --device foo", '--device must be "cpu"', "device="),
    ("cut a.mp4 x.mp4 --start 3 --times 0 1", "give --start and --stop, or --times", "start="),
    ("cut a.mp4 x.mp4 --times 1 0", "--times is (begin, end) in seconds", " times is"),
    ("transcode a.mp4 -o x --quality foo", "--quality of h264 (0 is best", " quality of"),
    ("transcode a.mp4 -o x --lerobot a --per-shard 2", "--lerobot writes .mp4 files", "videos_per"),
    ("tune a.mp4 --clips 0", "--clips is COUNTxSTRIDE", "count"),
    ("tune a.mp4 --size 64x", "--size is HEIGHTxWIDTH or HEIGHT", "size="),
    ("inspect a.mp4 --fps 5", "a.mp4: --fps 5 given", "fps=5"),
]  # fmt: skip


@pytest.fixture
def folder(example_files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.mp4", "b.mp4"):
        Path(name).write_bytes((example_files / "clip.mp4").read_bytes())
    vl.index_dataset(".", "set.parquet", 0).close()
    Path("captions.csv").write_text("path,caption\na.mp4,text\n")


@pytest.mark.parametrize(("typed", "expected", "argument"), TYPED)
def test_errors_name_options(typed, expected, argument, folder):
    told = CliRunner().invoke(app, shlex.split(typed))
    assert told.exit_code == 2
    assert expected in told.output
    assert argument not in f" {told.output}".replace(expected, "")


@pytest.mark.parametrize("name", ["size=64.mp4", "device='cpu'.mp4", "size=64/a.mp4", "x/size=64"])
def test_names_of_files_stay_as_they_are(name, folder):
    told = CliRunner().invoke(app, ["tune", name])
    assert told.exit_code == 2
    assert f"{name}: no such folder" in told.output
