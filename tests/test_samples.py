"""The samples and the README run as they stand."""

import os
import re
import signal
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import STDOUT

import pytest
from made_once import made_once
from programs import Program, run_program

from videoloader.demo.videos import encode_video, make_classes
from videoloader.indexing.dataset.rows import schema

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Clips that cost little to decode, in a folder for each class."""
    folder = tmp_path_factory.mktemp("samples") / "my_videos"
    more = ({}, {"codec": "libvpx-vp9", "options": {"deadline": "realtime"}}, {"rotation": -90})
    for number, name in enumerate(("h264.mp4", "vp9.webm", "rotated.mp4")):
        place = folder / f"class{number}"
        place.mkdir(parents=True)
        encode_video(place / name, size=(128, 96), frames=75, **more[number])
    return folder


def run(*words, cwd=ROOT, env=None):
    command = [sys.executable, "-W", "error", *words]
    return run_program(command, cwd=cwd, env=os.environ | (env or {}), check=True).stdout


@pytest.mark.parametrize(
    ("program", "found", "count"),
    [
        ("batches", "8 clips (16, 3, 224, 224)", 3),
        ("segments", ": testsrc2, 1.", 4),
        ("train_pipeline", "loss", 2),
    ],
)
def test_samples_make_their_videos(program, found, count, classes):
    assert run(ROOT / "samples" / f"{program}.py", cwd=classes).count(found) == count


@pytest.fixture
def classes(tmp_path, run_folder):
    """A folder to run samples in, which has the clips that they would make."""
    made = made_once(run_folder, "demo-classes", make_classes)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "classes").symlink_to(made)
    return tmp_path


def test_clips_of_classes_are_made_once(tmp_path):
    made = sorted(make_classes(tmp_path / "clips").rglob("*.mp4"))
    assert [path.parent.name for path in made] == ["mandelbrot"] * 4 + ["testsrc2"] * 4
    times = [path.stat().st_mtime_ns for path in made]
    make_classes(tmp_path / "clips")
    assert [path.stat().st_mtime_ns for path in made] == times
    assert {path.name for path in (tmp_path / "clips").iterdir()} == {"mandelbrot", "testsrc2"}


@pytest.mark.parametrize("server", [True, False])
def test_the_sample_of_object_stores_reads_them(server, classes):
    pytest.importorskip("moto")
    pytest.importorskip("obstore")
    program = str(ROOT / "samples" / "object_store.py")
    if server:
        told = run(program, cwd=classes)
        assert told.startswith("s3://videos/: 8 videos")
    else:
        hidden = "import runpy, sys, importlib.util as util; util.find_spec = lambda name: None; "
        hidden += f"sys.argv = ['a']; runpy.run_path({program!r}, run_name='__main__')"
        told = run("-c", hidden, cwd=classes)
        assert "no local S3 server: pip install" in told
        assert f"{classes.as_uri()}/demo/classes: 8 videos" in told
    assert told.count("(4, 8, 3, 64, 64)") == 2


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_the_ray_sample_says_that_ray_is_missing(classes):
    told = run(ROOT / "samples" / "ray_data.py", cwd=classes)
    assert told == 'Ray is not installed, so nothing was done: pip install "videoloader[ray]"\n'


@pytest.mark.needs("ray")
@pytest.mark.xdist_group("ray")
def test_the_ray_sample_loads_two_epochs(classes):
    told = run("-W", "ignore", ROOT / "samples" / "ray_data.py", cwd=classes)
    assert told.startswith("8 videos indexed")
    assert told.count("(4, 8, 3, 64, 64)") == 4


def test_the_notebook_runs(tmp_path):
    nbformat, client = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(ROOT / "samples" / "notebook.ipynb", as_version=4)
    client.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    kinds = [{kind for out in cell.outputs for kind in out.get("data", ())} for cell in code]
    assert ["text/html" in kind for kind in kinds] == [True] * 4 + [False] * 3
    assert "image/png" in kinds[5]


def test_the_sample_of_segments_says_what_is_left_out(folder, tmp_path):
    rows = ["video_id,start,end,label", "h264,0:00.5,0:01.5,run", "vp9,1,2,jump", "none,0,1,run"]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    lines = run("samples/segments.py", tmp_path / "rows.csv", folder).splitlines()
    assert lines[0] == "left out: row 2 is of a video that is not there"
    found = [re.match(r"row (\d): (\w+), ([\d.]+) to ([\d.]+) s$", line) for line in lines[1:]]
    assert sorted(match.group(1, 2) for match in found) == [("0", "run"), ("1", "jump")]
    for match in found:
        begin = (0.5, 1.0)[int(match[1])]
        assert begin - 0.04 <= float(match[3]) < float(match[4]) < begin + 1


def test_the_training_sample_goes_on_where_it_stopped(classes):
    program = ROOT / "samples" / "train.py"
    assert run(program, "--epochs", "1", cwd=classes).count("loss") == 1
    lines = run(program, "--epochs", "2", cwd=classes).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["epoch 1"]


def test_the_action_sample_learns_and_goes_on_with_another_number_of_processes(tmp_path):
    words = ("samples/train_action_recognition.py", tmp_path / "clips", "--clips", "12")
    words += ("--checkpoint", tmp_path / "state.pt", "--device", "cpu")
    assert run(*words, "--processes", "2", "--steps", "2") == ""  # 16 of 48 clips
    lines = run(*words, "--processes", "1", "--epochs", "3").splitlines()
    found = [
        re.match(r"epoch (\d): (\d+) clips, loss ([\d.]+), test \d+%$", line) for line in lines
    ]
    assert [match.group(1, 2) for match in found] == [(str(epoch), "48") for epoch in range(3)]
    losses = [float(match.group(3)) for match in found]
    assert losses[-1] < 0.95 * losses[0]


def test_the_torchrun_sample_goes_on_with_other_processes_and_another_way_to_share_work(tmp_path):
    clips = [tmp_path / "clips" / f"class{number % 2}" / f"{number}.mp4" for number in range(20)]
    encode_video(tmp_path / "one.mp4", size=(64, 48), frames=20)
    for clip in clips:
        clip.parent.mkdir(parents=True, exist_ok=True)
        clip.symlink_to(tmp_path / "one.mp4")
    words = ("samples/train_torchrun.py", tmp_path / "clips", "--cpu", "--batch-size", "2")
    words += ("--checkpoint", tmp_path / "state", "--save-every", "1", "--epochs", "1")
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert run(*torchrun, *words, "--parallel", "fsdp", "--steps", "3") == ""  # 12 clips
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    line = run(*words, "--parallel", "ddp", env=alone)
    assert re.match(r"epoch 0: loss [\d.]+, 20 clips, each trained on 1 to 1 times; ", line)


def test_the_dataloader_sample_loads_every_video_twice(folder):
    lines = run("samples/dataloader.py", folder, "--workers", "1").splitlines()
    assert sorted(re.findall(r"epoch \d", "".join(lines))) == ["epoch 0", "epoch 1"]
    assert all("(3, 8, 3, 112, 112)" in line for line in lines)


def test_the_pretraining_sample_trains_on_each_clip_once_though_it_is_killed(tmp_path):
    words = [sys.executable, "-W", "error", "samples/pretrain_loader.py", str(tmp_path / "run")]
    words += ["--clips", "16", "--kill-after", "1", "--ranks", "2", "1"]
    with open(tmp_path / "output", "w+") as told:
        running = Program(words, stdout=told, stderr=STDOUT, cwd=ROOT, start_new_session=True)
        try:
            running.wait(timeout=150)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)  # its ranks, too
            running.wait()
    output = (tmp_path / "output").read_text()
    assert running.returncode == 0, output
    assert "all ranks are killed" in output
    assert re.search(r"all 16 clips once: \d+ steps before the kill, [1-9]\d* after it", output)


def test_the_proxy_sample_decodes_in_the_main_process(classes):
    program = ROOT / "samples" / "proxy_loader.py"
    lines = run(program, "--workers", "1", cwd=classes).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["epoch 0"] * 2 + ["epoch 1"] * 2
    assert all("(4, 8, 3, 112, 112)" in line for line in lines)


def test_the_code_of_the_readme_runs(folder):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 7
    program = "\n".join(blocks)
    clip = folder.parent / "a.mp4"
    if not clip.exists():
        clip.symlink_to(folder / "class0" / "h264.mp4")
    run("-c", program, cwd=folder.parent)


def test_the_figures_of_the_documentation_are_the_measured_ones():
    program = "import tables; pages = tables.pages(); assert len(pages) == 11; "
    program += "assert all(path.read_text() == text for path, text in pages.items())"
    run("-c", program, cwd=ROOT / "benchmarks")


def test_the_picture_of_the_readme_is_that_of_the_plan():
    program = "import packets_figure as figure; from pathlib import Path; "
    program += "drawn = Path('packets.svg').read_text(); assert figure.drawing() == drawn"
    run("-c", program, cwd=ROOT / "docs")


def test_every_column_of_a_data_set_is_documented_with_its_type():
    page = (ROOT / "docs" / "data-set-columns.md").read_text()
    table = page.partition("| column | type | unit and meaning | null |\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.split("\n")[1:]]
    types = {"int32": "int32", "int64": "int64", "double": "float64", "bool": "bool"}
    types |= {"string": "text", "large_binary": "binary"}
    expected = [[f"`{field.name}`", types[str(field.type)]] for field in schema()]
    assert [row[:2] for row in rows] == expected
    assert all(len(row) == 4 and all(row) for row in rows)


def test_the_cutting_sample_prepares_a_folder(folder, tmp_path):
    words = ("samples/cut_and_transcode.py", folder, "--out", tmp_path)
    lines = run(*words).splitlines()
    assert [line.rpartition(" ")[2] for line in lines[:3]] == ["copy"] * 3
    assert "3 videos written, 0 were done" in lines[4]
    assert lines[-1] == "a batch (1, 8, 3, 64, 64)"
    assert "0 videos written, 3 were done" in run(*words)
