"""The main job and the command, end to end on small clips."""

import json

import pytest
from typer.testing import CliRunner

from videoloader.cli import app as cli
from videoloader.demo import app as demo


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
    rows = [line for line in result.output.splitlines() if "pipeline," in line or "Clip" in line]
    assert [row.split()[2] for row in rows] == ["6", "6"]
    sheet = cv2.imread(str(tmp_path / "contact_sheet.png"))
    assert sheet.shape[0] > 6 * 96
    assert sheet.std() > 20


def test_the_demo_says_when_there_is_nothing_to_load(run, tmp_path):
    assert run(demo, tmp_path / "none", "--out", tmp_path).exit_code == 2
    (tmp_path / "a.mp4").write_text("no video")
    result = run(demo, tmp_path, "--out", tmp_path)
    assert result.exit_code == 1
    assert "a.mp4" in result.output


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
    assert run(cli, "sample", tmp_path / "none.mp4", "-o", out).exit_code == 1
