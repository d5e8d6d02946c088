"""What type checkers see of a batch: `make types` reads this file, and the test runs it."""

from pathlib import Path
from typing import Any, assert_type

import torch

import videoloader as vl
from videoloader.demo.videos import encode_video


def moved(batch: dict[str, Any]) -> dict[str, Any]:
    return batch


def test_what_a_batch_holds_is_typed(tmp_path: Path) -> None:
    path = encode_video(tmp_path / "a.mp4", frames=4, size=(32, 16))
    dataset = vl.index_dataset(path, tmp_path / "set.parquet", workers=0)
    videos = dataset.join({"path": ["a.mp4"], "caption": ["a clip"]})
    sampler = vl.UniformClip(2)
    options: dict[str, Any] = {"labels": [3], "columns": ["caption"], "on_error": "mask"}
    with vl.Loader(videos, sampler, batch_size=1, workers=0, **options) as loader, dataset:
        for batch in loader:
            assert_type(batch["frames"], torch.Tensor)
            assert_type(batch["labels"], torch.Tensor)
            assert_type(batch["error"], list[str])
            assert_type(batch["caption"], Any)  # the names of columns are free
            plain: dict[str, Any] = moved(batch)
            batch["frames"] = batch["frames"].float()
            batch["more"] = 1
            assert type(batch) is dict
            for name in ("frames", "labels", "frame_numbers", "times", "mask", "sample"):
                assert isinstance(plain[name], torch.Tensor)
            assert plain["caption"] == ["a clip"]
            assert plain["error"] == [""]
