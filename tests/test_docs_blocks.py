"""The Python blocks of the pages run as they stand, page by page, in a folder of videos."""

import gc
import re
import shlex
import shutil
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import cv2
import numpy as np
import pytest
import torch
from own_decoders import own_decoders
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.compat.decord import bridge
from videoloader.datasets import transcode
from videoloader.demo.videos import encode_video
from videoloader.machinery.workers import tasks

pytestmark = pytest.mark.usefixtures("forked_workers")

DOCS = Path(__file__).parents[1] / "docs"
# A block that imports one of these is left out where it is missing.
PEERS = ("dask", "decord", "duckdb", "pandas", "polars", "pyspark")
ON_CLUSTERS = {"ray"}  # blocks that import it are run in `test_ray`
# Tests of their own; snippets for other libraries.
ELSEWHERE = ("dali/from-dali.md", "first-model.md", "drop-ins-hooks.md")
STAND_INS = {"decord", "torchcodec"}  # `install` of a drop-in puts modules of these names in place


def blocks_of(page, language="python"):
    """(first line, code) of each block of a page, also of those in lists."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        (text[: match.start(2)].count("\n"), dedent(match[2]))
        for match in re.finditer(
            rf"^( *)```{language}\n(.*?)^\1```$", text, flags=re.DOTALL | re.MULTILINE
        )
    ]


FOLDERS = ("", "dali/", "decoding/", "how/", "migrate/", "training/")
PATHS = [path for folder in FOLDERS for path in DOCS.glob(f"{folder}*.md")]
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in PATHS)
PAGES = [page for page in PAGES if blocks_of(page)]
for page in ELSEWHERE:
    PAGES.remove(page)
MARKS = {
    "dali/frameworks.md": (
        pytest.mark.needs("jax", "paddle", "tensorflow"),
        pytest.mark.filterwarnings("ignore"),  # what they say when they are imported
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files that the pages name, made once: videos of two classes, indexed and checked."""
    made = tmp_path_factory.mktemp("made")
    for name in ("a.jpg", "b.jpg"):
        cv2.imwrite(str(made / name), np.full((64, 96, 3), 99, np.uint8))
    with vl.Video(encode_video(made / "silent.mp4", size=(96, 64), frames=90)) as video:
        frames = video.get_frames()
    sound = np.sin(np.arange(48000) / 10, dtype=np.float32)[None] / 2
    vl.write_video(frames, made / "a.mp4", fps=30, gop=12, audio=(sound, 16000))
    stems = [f"{number:0>11}_000012_000022" for number in range(4)]
    for number, stem in enumerate(stems):
        place = made / "my_videos" / f"class{number % 2}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{stem}.mp4").symlink_to(made / "a.mp4")
    lines = [f"{stem},of {stem},{number % 2}" for number, stem in enumerate(stems)]
    (made / "captions.csv").write_text("\n".join(["stem,caption,label", *lines]) + "\n")
    lines = [f"run,{stem[:11]}" for stem in stems[:3]]
    (made / "kinetics.csv").write_text("\n".join(["label,youtube_id", *lines]) + "\n")
    for name in ("a", "b"):
        place = made / "my_images" / name
        place.mkdir(parents=True)
        shutil.copy(made / f"{name}.jpg", place)
    (made / "my_shards").mkdir()
    with tarfile.open(made / "my_shards" / "0.tar", "w") as shard:
        for stem in stems:
            shard.add(made / "a.mp4", f"{stem}.mp4")
            shard.add(made / "captions.csv", f"{stem}.txt")
    run_command("index", made / "my_videos", "-o", made / "set.parquet", "--workers", "0")
    run_command("check", made / "set.parquet", "--workers", "0")
    thumbnails = ("--thumbnails", made / "thumbnails.parquet")
    run_command("scenes", made / "a.mp4", "-o", made / "b.parquet", *thumbnails, "--workers", "0")
    return made


def run_command(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output


@pytest.fixture
def folder(made, empty_folder):
    """Where a reader of a page works."""
    for path in made.glob("*.*"):
        shutil.copy(path, empty_folder)  # pages may write files of these names
    for name in ("my_images", "my_shards"):
        (empty_folder / name).symlink_to(made / name)
    for name in ("my_videos", "train", "valid"):
        (empty_folder / name).symlink_to(made / "my_videos")
    return empty_folder


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """The current folder, with decoders and modules of its own."""
    monkeypatch.chdir(tmp_path)
    for module in (tasks, transcode):  # jobs run here: to start processes takes most of the time
        monkeypatch.setattr(module, "usable_processors", lambda: 0)
    before = stand_ins()
    # Processes of an earlier page or test would look for relative paths in its folder.
    with own_decoders():
        yield tmp_path
    bridge.reset_bridge()
    for name in stand_ins():
        del sys.modules[name]
    sys.modules.update(before)


def stand_ins():
    modules = sys.modules.items()
    return {name: module for name, module in modules if name.partition(".")[0] in STAND_INS}


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # pages do not close what they open
@pytest.mark.parametrize("page", [pytest.param(page, marks=MARKS.get(page, ())) for page in PAGES])
def test_the_blocks_of_a_page_run(page, folder):
    if page == "data-sets.md":
        pytest.importorskip("duckdb")  # the extra query
    blocks = blocks_of(page)
    # Functions of the blocks have their source, at its lines.
    program = folder / f"{Path(page).name}.py"
    lines = [""] * (blocks[-1][0] + blocks[-1][1].count("\n"))
    names = {"__name__": "__main__"}  # as in a script or a notebook
    for line, code in blocks:
        lines[line : line + code.count("\n")] = code.splitlines()
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for line, code in blocks:
        imported = set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE))
        peers = imported.intersection(PEERS)
        if imported & ON_CLUSTERS:
            continue
        if not torch.cuda.is_available():
            code = code.replace('device="mixed"', 'device="cpu"')
        if all(map(find_spec, peers)):
            exec(compile("\n" * line + code, str(program), "exec"), names)
    names.clear()
    gc.collect()  # while the warnings are ignored


@pytest.mark.skipif(find_spec("duckdb") is None, reason="needs the extra query")
def test_the_queries_on_data_sets_run(folder):
    lines = [line for _, block in blocks_of("data-sets.md", "bash") for line in block.splitlines()]
    queries = [shlex.split(line) for line in lines if line.startswith("videoloader query")]
    assert len(queries) == 6
    for query in queries:
        run_command(*query[1:])
    with vl.open_dataset("part.parquet") as part:
        assert len(part) == 4


def test_the_commands_that_choose_videos_run(folder):
    lines = [line for _, block in blocks_of("data-sets.md", "bash") for line in block.splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines if " set.parquet" in line]
    chosen = [words for words in commands if words[1] in ("join", "sample", "split")]
    assert len(chosen) == 4
    for words in chosen:
        run_command(*words[1:])


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the page does not close its loaders
def test_the_first_model_prints_what_its_page_shows(empty_folder, capsys):
    blocks = [code for _, code in blocks_of("first-model.md")]
    program = {}
    for code in blocks:
        exec(compile(code, "first-model.md", "exec"), program)
    printed = capsys.readouterr().out
    shown = "".join(code for _, code in blocks_of("first-model.md", "text")[1:])  # 0: a folder
    shown = shown.replace("/home/you", str(empty_folder))
    numbers = r"(?<=loss )[\d.]+|\d+%|tensor.*"  # which depend on the processor
    assert re.sub(numbers, "", printed) == re.sub(numbers, "", shown)
    losses = [float(each) for each in re.findall(r"loss ([\d.]+)", printed)]
    assert losses[-1] < 0.5 * losses[0]
    assert program["validate"]() >= 0.9

    # In another session the run goes on: steps 3 to 5 without the loop, then the state is loaded.
    imports, _, *steps = blocks[:5]
    steps[-1] = steps[-1].partition("\nwhile ")[0]
    assert "def validate" in steps[-1]
    resumed = {}
    for code in (imports, *steps, blocks[6]):
        exec(compile(code, "first-model.md", "exec"), resumed)
    epochs = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()[-2:]]
    assert epochs == ["epoch 3", "epoch 4"]
    program.clear()
    resumed.clear()
    gc.collect()  # while the warnings are ignored


def test_pages_are_found():
    assert len(PAGES) >= 21  # none is lost by the pattern of a block


def test_what_replaces_readers_of_other_libraries_is_there():
    page = (DOCS / "drop-ins-hooks.md").read_text(encoding="utf-8")
    lines = re.findall(r"^from videoloader\..*$", page, flags=re.MULTILINE)
    assert len(lines) >= 12
    for line in lines:
        exec(line, {})
