"""The exit codes of the commands are those of the table in docs/data-set-index.md."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from programs import run_program
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.cli import diagnosis as doctor
from videoloader.datasets.report.browse import BrowseServer

pytestmark = pytest.mark.usefixtures("forked_workers")

COMMANDS = {each.callback.__name__ for each in app.registered_commands}
PAGE = Path(__file__).parents[2] / "docs" / "data-set-index.md"
ROW = re.compile(r"^\| (\d+) \| .* \| (.+) \|$", re.MULTILINE)
TABLE = ROW.findall(PAGE.read_text().partition("| code | meaning | commands |")[2])
WITH_1 = {name for code, names in TABLE if code == "1" for name in re.findall(r"`(\w+)`", names)}

# Calls where videos fail: `bad/` has a file that is no video, and bad.parquet its row.
FAILED = {
    "index": "index bad/",
    "merge": "merge bad.parquet -o out.parquet",
    "split": "split bad.parquet 1.0 -o out.parquet",
    "join": "join bad.parquet captions.csv -o out.parquet --missing drop",
    "check": "check damaged.parquet --workers 0",
    "query": "query bad.parquet",
    "inspect": "inspect bad/bad.mp4",
    "sample": "sample bad/bad.mp4",
    "report": "report bad.parquet --workers 0",
    "browse": "browse bad.parquet",
    "scenes": "scenes bad.parquet -o out.parquet --workers 0",
    "dedupe": "dedupe bad.parquet -o out.parquet --workers 0",
    "score": "score bad.parquet -o out.parquet --workers 0",
    "cut": "cut bad/bad.mp4 out.mp4",
    "transcode": "transcode bad/ -o out/ --workers 0",
    "top": "top --once",
    "tune": "tune bad/ --seconds 1 --size 32 --clips 4 --batch 2 --workers 0",
    "doctor": "doctor",
    "demo": "demo nothing/",
}
ONE_VIDEO = {"cut", "inspect", "sample"}  # without it nothing is done


def run(words):
    return CliRunner().invoke(app, words.split())


@pytest.fixture
def folder(example_files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("bad", "damaged", "nothing"):
        Path(name).mkdir()
    shutil.copy(example_files / "clip.mp4", "bad/good.mp4")
    Path("bad/bad.mp4").write_bytes(b"no video")
    Path("nothing/bad.mp4").write_bytes(b"no video")
    data = bytearray((example_files / "clip.mp4").read_bytes())
    packet = vl.index_video(bytes(data)).packets[40]
    data[packet["offset"] : packet["offset"] + packet["size"]] = bytes(packet["size"])
    Path("damaged/a.mp4").write_bytes(data)
    for name in ("bad", "damaged"):
        vl.index_dataset(name, f"{name}.parquet", 0).close()
    Path("captions.csv").write_text("path,caption\ngood.mp4,text\n")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_videos_that_fail_give_the_code_of_the_table(command, folder, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(BrowseServer, "serve_forever", interrupt)
    monkeypatch.setattr(doctor, "CLIP_CRC", 1)  # decodes to wrong pixels
    if command == "query":
        pytest.importorskip("duckdb")  # the extra query
    expected = 1 if command in WITH_1 else 2 if command in ONE_VIDEO else 0
    told = run(FAILED[command])
    assert told.exit_code == expected, told.output
    assert "Traceback" not in told.output


def test_the_summary_of_an_index_adds_up(folder):
    told = run("index bad/ -o out.parquet").output
    assert "out.parquet: 1 videos of 2 files (1 cannot be read), " in told
    told = run("index bad/good.mp4 -o one.parquet").output
    assert "one.parquet: 1 videos of 1 files, " in told


@pytest.mark.parametrize("command", sorted(COMMANDS - {"doctor", "index", "top"}))
def test_a_missing_file_gives_2(command, folder):
    words = re.sub(r"(bad|damaged|nothing)(/bad)?(?=[./])", "missing", FAILED[command])
    told = run(words)
    assert told.exit_code == 2
    assert "missing" in told.output
    assert "Traceback" not in told.output


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_wrong_option_gives_2(command):
    assert run(f"{command} --wrong").exit_code == 2


def test_the_table_says_who_differs():
    assert FAILED.keys() == COMMANDS
    assert [code for code, _ in TABLE] == ["0", "1", "1", "2", "130"]
    for code in ("0", "1", "2", "130"):
        assert f" {code} " in (app.info.epilog or "")


@pytest.mark.parametrize("words", ["inspect {}", "inspect {} --json", "index {} {}", "--help"])
def test_a_closed_pipe_ends_a_command_quietly(words, example_files):
    reading, writing = os.pipe()
    os.close(reading)
    clip = str(example_files / "clip.mp4")
    command = [sys.executable, "-m", "videoloader", *words.replace("{}", clip).split()]
    try:
        done = run_program(command, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_warning_is_a_line_without_a_place_in_python(example_files, tmp_path):
    index = str(example_files / "set.parquet")
    words = ["split", index, "0.5", "--by", "codec", "-o", f"{tmp_path}/a.parquet"]
    command = [sys.executable, "-m", "videoloader", *words, "-o", f"{tmp_path}/b.parquet"]
    told = run_program(command, check=True)
    (line,) = told.stderr.splitlines()
    assert line.startswith("split: part ")
    assert "Warning" not in line
