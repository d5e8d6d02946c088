"""Files for the examples in docstrings; `videos/` has two classes."""

from __future__ import annotations

import gc
import shutil
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule

import videoloader  # noqa: F401  (else pytest imports videoloader/errors.py a second time)

FILES = ("clip.mp4", "videos/", "set.parquet", "photo.jpg", "silent.mp4")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Any, list[Any]]:
    """Search files without an example for none: that takes seconds in each process of a run."""
    collectors: list[Any] = yield
    if b">>>" in file_path.read_bytes():
        return collectors
    return [each for each in collectors if not isinstance(each, DoctestModule)]


@pytest.fixture(scope="session")
def example_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files, made once: 90 frames of 96x64 with 3 seconds of sound."""
    import cv2
    import numpy as np

    import videoloader as vl
    from videoloader.demo.videos import encode_video

    folder = tmp_path_factory.mktemp("examples")
    with vl.Video(encode_video(folder / "silent.mp4", size=(96, 64), frames=90)) as video:
        frames = video.get_frames()
    sound = np.sin(np.arange(48000) / 10, dtype=np.float32)[None] / 2
    vl.write_video(frames, folder / "clip.mp4", fps=30, gop=12, audio=(sound, 16000))
    cv2.imwrite(str(folder / "photo.jpg"), frames.frames[0].numpy())
    for name in ("jump/0.mp4", "jump/1.mp4", "run/2.mp4", "run/3.mp4"):
        (folder / "videos" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "clip.mp4", folder / "videos" / name)
    vl.index_dataset(folder / "videos", out=folder / "set.parquet", workers=0).close()
    return folder


@pytest.fixture(autouse=True)
def folder_of_examples(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run an example that names one of the files in a copy of their folder, without processes."""
    examples = getattr(getattr(request.node, "dtest", None), "examples", ())
    if not any(name in example.source for example in examples for name in FILES):
        yield
        return
    from videoloader.datasets import transcode
    from videoloader.decoding import batch_decoder
    from videoloader.machinery.workers import tasks

    folder = request.getfixturevalue("tmp_path") / "examples"
    shutil.copytree(request.getfixturevalue("example_files"), folder)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # examples do not close what they open
        patch.chdir(folder)
        for module in (batch_decoder, tasks, transcode):
            patch.setattr(module, "usable_processors", lambda: 0)
        gc.freeze()  # what was there before need not be searched: that takes 0.2 s
        yield
        gc.collect()
        gc.unfreeze()
