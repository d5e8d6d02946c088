"""The commands `scenes`, `dedupe` and `score`."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.demo.shots import encode_shots


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A video twice, another one, and a file that is no video."""
    folder = tmp_path_factory.mktemp("commands") / "videos"
    folder.mkdir()
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        encode_shots(folder / f"{name}.mp4", [12, 14], seed=seed, size=(160, 90))
    (folder / "d.mp4").write_bytes(b"no video")
    vl.index_dataset(folder, folder.parent / "set.parquet", 0)
    return folder


def run(*words):
    return CliRunner().invoke(app, [*map(str, words), "--workers", "0"])


def test_scenes_and_thumbnails_are_written(folder, tmp_path):
    out, thumbnails = tmp_path / "scenes.parquet", tmp_path / "thumbnails.parquet"
    words = ["scenes", folder.parent / "set.parquet", "-o", out, "--exact"]
    told = run(*words, "--thumbnails", thumbnails)
    assert told.exit_code == 1  # of the file that is no video
    assert "6 scenes of 3 videos\n" in told.output
    plain = run("scenes", folder / "a.mp4", "-o", tmp_path / "plain.parquet")
    assert "of 1 videos; cuts may be half a second off, --exact decodes" in plain.output
    assert "d.mp4" in told.output
    table = pq.read_table(out)
    assert table["start"].to_pylist() == [0, 12] * 3 + [None]
    first = pq.read_table(thumbnails).to_pylist()[0]
    assert len(first["thumbnails"]) == len(first["thumbnail_frames"]) * 27 * 48 * 3


def test_thumbnails_are_refused_before_scenes_are_looked_for(folder, tmp_path):
    out = tmp_path / "scenes.parquet"
    words = ["scenes", str(folder), "-o", str(out), "--thumbnails", str(tmp_path / "a.png")]
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, out.exists()) == (2, False)
    assert "a.png: the name of a Parquet table ends in .parquet" in result.output


@pytest.mark.parametrize("more", [[], ["--copies"], ["--distance", "4"]])
def test_duplicates_are_found(folder, tmp_path, more):
    told = run("dedupe", folder.parent / "set.parquet", "-o", tmp_path / "out.parquet", *more)
    assert told.exit_code == 1
    assert "2 videos in 1 group; 1 can be left out" in told.output
    assert "d.mp4" in told.output


def test_videos_are_scored(folder, tmp_path):
    paths = [folder / "a.mp4", folder / "c.mp4"]
    told = run("score", *paths, "-o", tmp_path / "out.parquet", "--sound")
    assert told.exit_code == 0, told.output
    assert "2 videos scored" in told.output
    assert pq.read_table(tmp_path / "out.parquet")["silence"].to_pylist() == [None, None]


def test_a_job_that_cannot_be_done_says_why(tmp_path):
    told = run("score", tmp_path / "none.parquet", "-o", tmp_path / "out.parquet")
    assert told.exit_code == 2
    assert "none.parquet" in told.output


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("scenes", {"scenes": 6, "videos": 3}),
        ("score", {"videos": 3}),
        ("dedupe", {"videos": 2, "groups": 1}),
    ],
)
def test_results_are_printed_as_json(folder, tmp_path, command, facts):
    out = tmp_path / "out.parquet"
    told = run(command, folder.parent / "set.parquet", "-o", out, "--json")
    assert told.exit_code == 1
    printed = json.loads(told.stdout)
    (error,) = printed.pop("errors")
    assert (error["row"], error["key"]) == (3, "d.mp4")
    assert "d.mp4" in error["error"]
    assert printed == {"out": str(out), **facts}


@pytest.mark.parametrize("command", ["scenes", "score"])
def test_shards_make_up_the_whole(folder, tmp_path, command):
    words = [command, folder.parent / "set.parquet", "-o"]
    run(*words, tmp_path / "whole.parquet")
    parts = [tmp_path / f"{part}.parquet" for part in range(3)]
    for part, path in enumerate(parts):
        run(*words, path, "--shard", f"{part}/3")
    whole = pq.read_table(tmp_path / "whole.parquet").to_pylist()
    assert pa.concat_tables(map(pq.read_table, parts), promote_options="default").to_pylist() == (
        whole
    )


def test_duplicates_are_found_from_hashes_of_several_machines(folder, tmp_path, monkeypatch):
    words = ["dedupe", folder.parent / "set.parquet", "-o"]
    run(*words, tmp_path / "whole.parquet")
    out = tmp_path / "out.parquet"
    run(*words, out, "--shard", "0/3")  # begun for three, and not gone on with
    told = [run(*words, out, "--shard", f"{part}/2").output for part in range(2)]
    assert "2 videos hashed, part 0 of 2" in told[0]
    assert "1 videos hashed, part 1 of 2" in told[1]
    monkeypatch.setattr("videoloader.datasets.duplicates.hash_video", None)  # not called again
    run(*words, out)
    assert pq.read_table(out).equals(pq.read_table(tmp_path / "whole.parquet"))
    assert [path.name for path in tmp_path.glob("out*")] == ["out.parquet"]


def test_hashes_of_another_number_of_parts_are_deleted_too(folder, tmp_path):
    out = tmp_path / "out.parquet"
    for part in ("0/2", "0/3"):
        run("dedupe", folder.parent / "set.parquet", "-o", out, "--shard", part)
    run("dedupe", folder.parent / "set.parquet", "-o", out)
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_the_videos_of_a_data_set_may_have_moved(folder, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "here")
    vl.index_dataset(moved, tmp_path / "set.parquet", 0).close()
    moved = moved.rename(tmp_path / "there")
    words = ["score", tmp_path / "set.parquet", "-o", tmp_path / "out.parquet", "--json"]
    assert json.loads(run(*words).stdout)["videos"] == 0
    assert json.loads(run(*words, "--root", moved).stdout)["videos"] == 3
    told = run("score", folder, "-o", tmp_path / "out.parquet", "--root", folder)
    assert told.exit_code == 2
    assert "--root" in told.output


@pytest.mark.parametrize("command", ["scenes", "dedupe", "score"])
def test_a_part_without_videos_gives_a_table_without_rows(folder, tmp_path, command):
    none = vl.open_dataset(folder.parent / "set.parquet").filter(min_frames=1000)
    none.write(tmp_path / "none.parquet").close()
    told = run(command, tmp_path / "none.parquet", "-o", tmp_path / "out.parquet")
    assert told.exit_code == 0, told.output
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0
