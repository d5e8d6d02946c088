"""The main job and the command, end to end on small clips."""

import json
import textwrap

import pytest
import torch
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app as cli
from videoloader.demo.show import PROGRAM
from videoloader.demo.show import app as demo


@pytest.fixture
def run():
    return lambda app, *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_demo_loads_two_epochs_twice_and_draws_a_sheet(run, demo_folder, tmp_path):
    import cv2

    folder = tmp_path / "videos"
    folder.mkdir()
    for file in sorted(demo_folder.iterdir())[:3]:
        (folder / file.name).symlink_to(file)
    (folder / "damaged.mp4").write_bytes((folder / "av1.mp4").read_bytes()[:5000])
    result = run(demo, folder, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "damaged.mp4: no 'moov' box" in " ".join(result.output.split())
    rows = [line.split() for line in result.output.splitlines() if line.strip()]
    assert [row[1] for row in rows if row[0] == "Loader"] == ["6"]
    assert [row[1] for row in rows if row[0] == "pipeline"] == ["6"]
    assert max(len(line) for line in result.output.splitlines() if " tables " in line) <= 80
    names = [row[-1] for row in rows if "tables" in row]  # whole ones
    assert names == [file.name for file in sorted(demo_folder.iterdir())[:3]]
    assert sum("%" in line for line in result.output.splitlines()) == 2  # no row goes on
    sheet = cv2.imread(str(tmp_path / "contact_sheet.png"))
    assert sheet.shape[0] > 6 * 96
    assert sheet.std() > 20


def test_the_program_that_the_demo_prints_runs(demo_folder):
    shapes = []
    program = textwrap.dedent(PROGRAM.format(folder=str(demo_folder)))
    exec(program.replace('batch["frames"]', 'see(batch["frames"])'), {"see": shapes.append})
    assert (shapes[0].dtype, shapes[0].shape) == (torch.uint8, (4, 16, 3, 112, 112))


def test_the_demo_says_when_there_is_nothing_to_load(run, tmp_path):
    assert run(demo, tmp_path / "none", "--out", tmp_path).exit_code == 2
    (tmp_path / "a.mp4").write_text("no video")
    result = run(demo, tmp_path, "--out", tmp_path)
    assert result.exit_code == 1
    assert "a.mp4" in result.output


def test_the_demo_says_in_a_line_what_it_cannot_write(run, demo_folder, tmp_path):
    (tmp_path / "file").touch()
    for words in ((), (demo_folder,)):
        result = run(demo, *words, "--out", tmp_path / "file" / "demo")
        assert result.exit_code == 2
        assert result.output.endswith("file/demo: cannot be written (Not a directory)\n")
    (tmp_path / "out" / "videos").mkdir(parents=True)
    (tmp_path / "out" / "contact_sheet.png").mkdir()
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.mp4").symlink_to(demo_folder / "h264.mp4")
    result = run(demo, tmp_path / "one", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.output.endswith("contact_sheet.png: is a folder; name a file to write\n")


def test_index_prints_facts(run, demo_folder):
    result = run(cli, "index", demo_folder / "h264.mp4", "--json", "--headers")
    assert result.exit_code == 0
    facts = json.loads(result.output)
    assert (facts["num_frames"], facts["codec"], facts["exactness"]) == (90, "h264", "tables")


def test_index_of_a_folder_is_a_table(run, demo_folder):
    result = run(cli, "index", demo_folder)
    assert result.exit_code == 0
    assert all(file.name[:10] in result.output for file in demo_folder.iterdir())


def test_index_fails_by_exit_code_and_names_the_file(run, demo_folder, tmp_path):
    result = run(cli, "index", demo_folder / "h264.mp4", tmp_path / "none.mp4")
    assert result.exit_code == 1
    assert "none.mp4" in result.stderr
    assert "h264.mp4" in result.stdout


def test_sample_draws_a_sheet(run, demo_folder, tmp_path):
    out = tmp_path / "sheet.png"
    assert run(cli, "sample", demo_folder / "h264.mp4", "-o", out).exit_code == 0
    assert out.stat().st_size > 10_000
    by_stride = out.read_bytes()
    assert run(cli, "sample", demo_folder / "h264.mp4", "-o", out, "--fps", "5/2").exit_code == 0
    assert out.read_bytes() != by_stride
    for wrong in (["--fps", "x"], ["--fps", "0"], ["--fps", "5", "--stride", "3"]):
        assert run(cli, "sample", demo_folder / "h264.mp4", "-o", out, *wrong).exit_code == 2
    assert run(cli, "sample", tmp_path / "none.mp4", "-o", out).exit_code == 2


def test_inspect_prints_groups_and_draws_a_timeline(run, demo_folder, tmp_path):
    out = tmp_path / "timeline.png"
    result = run(cli, "inspect", demo_folder / "h264_open_gop.mp4", "-o", out, "--gops", "2")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert any(line.split()[:2] == ["0", "0-24"] or " 0 " in line for line in lines)
    assert "and 2 more" in result.output
    assert out.stat().st_size > 10_000
    assert run(cli, "inspect", tmp_path / "none.mp4").exit_code == 2


def test_check_finds_the_damaged_frames(run, demo_folder, tmp_path):
    import pyarrow.parquet as pq

    good, bad = demo_folder / "hevc.mp4", tmp_path / "bad.mp4"
    index = vl.index_video(demo_folder / "h264_open_gop.mp4")
    data = bytearray((demo_folder / "h264_open_gop.mp4").read_bytes())
    victim = index.packets[int(index.frame_packets[index.keyframes[-1]])]
    data[victim["offset"] : victim["offset"] + victim["size"]] = bytes(int(victim["size"]))
    bad.write_bytes(data)
    vl.index_dataset([good, bad], tmp_path / "set.parquet", workers=0).close()
    result = run(cli, "check", tmp_path / "set.parquet", "--workers", "1")
    assert result.exit_code == 1
    assert "2 videos decoded, 1 damaged" in " ".join(result.stdout.split())
    rows = pq.read_table(tmp_path / "set.damage.parquet").to_pylist()
    assert {row["path"] for row in rows} == {str(bad)}
    frames = {frame for row in rows for frame in row["frames"]}
    assert set(range(int(index.keyframes[-1]), index.num_frames)) <= frames
    assert not frames & set(range(int(index.keyframes[1])))
    assert run(cli, "check", tmp_path / "none.parquet").exit_code == 2


def test_check_is_silent_about_sound_videos(run, demo_folder, tmp_path):
    vl.index_dataset(demo_folder, tmp_path / "set.parquet", workers=0).close()
    assert run(cli, "check", tmp_path / "set.parquet", "--workers", "0").exit_code == 0
