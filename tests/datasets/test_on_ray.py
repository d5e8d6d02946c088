"""Jobs on a real Ray cluster of two nodes: the same files as on one machine, whatever dies."""

from functools import partial

import pytest
from ray_cluster import NODE, node_of
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.demo.videos import encode_video
from videoloader.errors import ResourceError
from videoloader.machinery.workers.tasks import run_tasks

# One worker of a run has them all: a cluster takes ten seconds to start.
pytestmark = [pytest.mark.needs("ray"), pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Videos of 4, 5, ... frames; number 2 is no video, number 6 is a copy of number 5."""
    folder = tmp_path_factory.mktemp("on_ray") / "videos"
    folder.mkdir()
    for number in range(6):
        encode_video(folder / f"{number}.mp4", frames=4 + number, size=(64, 64))
    (folder / "2.mp4").write_bytes(b"no video")
    (folder / "6.mp4").write_bytes((folder / "5.mp4").read_bytes())
    return vl.index_dataset(folder, folder.parent / "set.parquet", 0)


@pytest.mark.parametrize("job", ["index", "check", "scenes", "dedupe", "score"])
def test_a_command_writes_the_file_that_one_machine_writes(job, cluster, dataset):
    source = dataset.root if job == "index" else dataset.path
    outs = [dataset.path.with_name(f"{job}.{where}.parquet") for where in ("here", "ray")]
    for out, how in zip(outs, (["--workers", "0"], ["--ray", cluster.address]), strict=True):
        result = CliRunner().invoke(app, [job, str(source), "-o", str(out), *how])
        assert result.exit_code == (job != "check"), result.output  # number 2 is no video
    assert outs[0].read_bytes() == outs[1].read_bytes()


def mean_of(clip):
    return {"mean": float(clip.frames.float().mean())}


def test_clips_are_mapped_to_the_same_file_and_progress_is_told(cluster, dataset, tmp_path):
    outs, told = [tmp_path / f"{name}.parquet" for name in ("here", "ray")], []
    job = partial(vl.map_clips, dataset, mean_of, clips=vl.RandomClip(2), seed=3)
    job(outs[0], workers=0)
    job(outs[1], ray=True, progress=lambda *at: told.append(at))
    assert outs[1].read_bytes() == outs[0].read_bytes()
    assert [done for done, *_ in told] == [*range(1, 8)]


def test_videos_are_transcoded_to_the_same_files(cluster, dataset, tmp_path):
    outs = [tmp_path / name for name in ("here", "ray")]
    made = [
        vl.transcode(dataset.root, out, resize_shorter=32, **how)
        for out, how in zip(outs, ({"workers": 0}, {"ray": True}), strict=True)
    ]
    assert [each.written for each in made] == [6, 6]
    names = [sorted(path.name for path in out.glob("*.mp4")) for out in outs]
    assert names[0] == names[1]
    assert len(names[0]) == 6
    for name in names[0]:
        assert (outs[1] / name).read_bytes() == (outs[0] / name).read_bytes()


def test_segments_are_mapped_and_transcoded_as_on_one_machine(cluster, dataset, tmp_path):
    rows = {"video": [dataset.key(row) for row in (0, 1, 0)], "start": [1, 0, 2], "end": [3, 2, 4]}
    segments = vl.Segments(rows, dataset, unit="frames")
    tables, made = [], []
    for where, how in (("here", {"workers": 0}), ("ray", {"ray": True})):
        out = tmp_path / f"{where}.parquet"
        tables.append(vl.map_clips(segments, mean_of, out, clips=vl.UniformClip(2), **how))
        made.append(vl.transcode(segments, tmp_path / where, **how))
    assert tables[0].equals(tables[1])
    assert tables[0]["frames"].to_pylist() == [[1, 2], [0, 1], [2, 3]]
    assert [each.written for each in made] == [3, 3]
    names = [sorted(path.name for path in each.out.glob("*.mp4")) for each in made]
    assert names[0] == names[1]
    assert [name[-11:] for name in names[0]] == ["_000000.mp4", "_000002.mp4", "_000001.mp4"]


def test_a_video_that_ends_its_process_fails_alone(cluster, dataset, tmp_path):
    def deadly(video):
        import os

        return {"frames": len(video)} if len(video) != 8 else os._exit(7)

    table = vl.map_clips(dataset, deadly, tmp_path / "out.parquet", ray=True)
    assert table["frames"].to_pylist() == [4, 5, None, 7, None, 9, 9]
    (error,) = [row["error"] for row in table.to_pylist() if row["error_kind"] == "WorkerDied"]
    assert error == f"{dataset.item(4).name}: the worker process died (exit code 7)"


def test_tasks_that_die_or_hang_fail_as_on_one_machine(cluster):
    tasks = ["a", "die", "b", "hang", "c", "fail", "d"]
    job = partial(run_tasks, "ray_cluster:misbehave", tasks, time_limit=2)
    here, on_ray = dict(job(workers=1)), dict(job(workers=None, ray=True))
    assert on_ray == here
    assert [on_ray[task].kind for task in ("die", "hang", "fail")] == [
        "WorkerDied",
        "TimeLimit",
        "ValueError",
    ]


def test_few_calls_are_in_flight_and_the_object_store_stays_empty(cluster, monkeypatch):
    import ray

    in_flight, wait = [], ray.wait

    def noted(calls, **how):
        in_flight.append(len(calls))
        return wait(calls, **how)

    monkeypatch.setattr(ray, "wait", noted)
    model, used = bytes(10 << 20), []
    how = {"workers": None, "time_limit": 60, "ahead": 1, "ray": True}
    for _ in run_tasks("ray_cluster:size_of", [*range(40)], arguments={"model": model}, **how):
        total, free = (
            read()["object_store_memory"]
            for read in (ray.cluster_resources, ray.available_resources)
        )
        used.append(total - free)
    assert max(in_flight) == 4
    assert max(used) < 2.5 * len(model)  # once a node


def test_a_job_on_a_gpu_asks_for_one_and_what_a_node_lacks_ends_a_job(cluster):
    how = {"workers": None, "time_limit": 60, "ray": True}
    tasks = ["CUDA_VISIBLE_DEVICES"] * 3
    assert [*run_tasks("os:getenv", tasks, gpus=1, **how)] == [(task, "0") for task in tasks]
    with pytest.raises(ResourceError, match=r"no room \(on the Ray node .+\)"):
        [*run_tasks("ray_cluster:lack", [1], **how)]


def test_tasks_of_a_node_that_is_killed_are_done_elsewhere(cluster):
    node = cluster.add_node(**{**NODE, "num_cpus": 2})
    cluster.wait_for_nodes()
    own, done = node_of(node), {}
    how = {"workers": None, "time_limit": 60, "ahead": 1, "ray": True}
    for task, place in run_tasks("ray_cluster:node_after", [*range(24)], **how):
        done[task] = place
        if node is not None and place == own:
            cluster.remove_node(node, allow_graceful=False)
            node = None
    assert node is None
    assert sorted(done) == [*range(24)]
    assert [*done.values()].count(own) < 6  # those that were on their way
