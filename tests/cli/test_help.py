"""The help of the commands: whole paragraphs, examples that run, `--json`."""

import itertools
import json
import re
import shlex
import shutil

import pytest
import torch
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.datasets import transcode
from videoloader.datasets.report.browse import BrowseServer
from videoloader.decoding import batch_decoder
from videoloader.machinery.workers import tasks

pytestmark = pytest.mark.usefixtures("forked_workers")

COMMANDS = {each.callback.__name__: each for each in app.registered_commands}
EXAMPLES = {name: each.epilog.split("\n\n")[1:] for name, each in COMMANDS.items()}
FOR_PEOPLE = {"browse", "demo"}  # commands without --json


def run(*words, columns=80):
    return CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": str(columns)})


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_paragraphs_fill_the_width_of_the_terminal(command, columns):
    told = run(*command.split(), "--help", columns=columns).output
    assert "…" not in told
    assert max(map(len, told.splitlines())) <= columns
    paragraphs = re.split(r"\n\s*\n", re.sub(r"^[╭│╰].*\n", "\n", told, flags=re.MULTILINE))
    paragraphs = [paragraph.split("\n") for paragraph in map(str.strip, paragraphs) if paragraph]
    assert len(paragraphs) >= 3
    for line, following in itertools.chain.from_iterable(map(itertools.pairwise, paragraphs)):
        # A space on both sides; the line had no room for the next word.
        assert len(f"{line.strip()} {following.split()[0]}") > columns - 2


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_end_the_help_each_on_a_line(command):
    lines = [line.strip() for line in run(command, "--help").output.splitlines() if line.strip()]
    last = lines[lines.index("Examples:") + 1 :]
    assert last == EXAMPLES[command]
    assert 2 <= len(last) <= 3
    assert any(line.startswith(f"videoloader {command}") for line in last)


@pytest.fixture
def folder(example_files, tmp_path, monkeypatch):
    """A folder with the files that the examples name, as the current one."""
    folder = shutil.copytree(example_files, tmp_path / "examples")
    with vl.open_dataset(folder / "set.parquet") as dataset:
        rows = [f"{key},{key[-5]},text\n" for key in dataset.keys]
    (folder / "captions.csv").write_text("".join(["path,name,caption\n", *rows]))
    monkeypatch.chdir(folder)
    for module in (batch_decoder, tasks, transcode):
        monkeypatch.setattr(module, "usable_processors", lambda: 0)
    return folder


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_run(command, folder, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(BrowseServer, "serve_forever", interrupt)
    monkeypatch.setattr("videoloader.demo.show.make_videos", lambda _: [folder / "clip.mp4"])
    for example in EXAMPLES[command]:
        if "cuda" in example and not torch.cuda.is_available():
            continue
        told = run(*shlex.split(example)[1:])
        assert told.exit_code == 0, (example, told.output)
        if "--json" in example:
            for line in told.stdout.splitlines():
                json.loads(line)


def test_commands_for_scripts_print_json(folder):
    lacking = {name for name in COMMANDS if "--json" not in run(name, "--help").output}
    assert lacking == FOR_PEOPLE
    calls = {
        "index videos/ -o a.parquet --shard 0/2": {"out": "a.parquet", "videos": 2},
        "merge a.parquet -o m.parquet": {"out": "m.parquet", "videos": 2, "parts": 1},
        "split set.parquet 1.0 -o s.parquet": {"out": "s.parquet", "videos": 4, "of": 4},
        "join set.parquet captions.csv -o j.parquet --column caption": {
            "out": "j.parquet",
            "videos": 4,
            "of": 4,
            "added": ["caption"],
        },
        "cut clip.mp4 c.mp4 --start 12 --stop 48": {
            "path": "c.mp4",
            "start": 12,
            "stop": 48,
            "method": "copy",
        },
        "report set.parquet -o page": {"out": "page/index.html"},
    }
    for words, expected in calls.items():
        told = json.loads(run(*words.split(), "--json").stdout)
        assert expected.items() <= told.items()
    assert told["bytes"] == (folder / "page" / "index.html").stat().st_size


def test_query_writes_rows_and_says_so_in_json(folder):
    pytest.importorskip("duckdb")  # the extra query
    told = run("query", "set.parquet", "height = 64", "-o", "q.parquet", "--json")
    assert json.loads(told.stdout) == {"out": "q.parquet", "rows": 4, "of": 4}
