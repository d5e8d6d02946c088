"""Partitions of a data set in tasks of Spark, in local mode; needs Java 17 or newer."""

import os
import sys

import pyarrow as pa
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video

pytestmark = [
    pytest.mark.needs("pyspark"),
    pytest.mark.filterwarnings("ignore"),  # of Spark about its own code
]


@pytest.fixture
def context(monkeypatch):
    """Spark with two processors of this machine, whose tasks run in this Python."""
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = session.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session.sparkContext
    session.stop()


def test_partitions_that_spark_maps_have_the_rows_of_one_job(context, tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    for number in range(5):
        encode_video(folder / f"{number}.mp4", frames=6 + number, size=(64, 64))
    (folder / "2.mp4").write_bytes(b"no video")
    dataset = vl.index_dataset(folder, tmp_path / "set.parquet", 0)

    def mapped(part, out):  # inside the test, so it travels as code
        def mean(clip):
            return {"mean": float(clip.frames.float().mean())}

        return vl.map_clips(part, mean, out, clips=vl.RandomClip(2), seed=7, workers=0)

    parts = dataset.partitions(3)
    tasks = [(part, tmp_path / f"{number}.parquet") for number, part in enumerate(parts)]
    rows = context.parallelize(tasks, len(tasks)).flatMap(lambda task: mapped(*task).to_pylist())
    whole = mapped(dataset.videos, tmp_path / "whole.parquet")
    assert len(tasks) == 3
    assert pa.Table.from_pylist(rows.collect(), whole.schema).equals(whole)
