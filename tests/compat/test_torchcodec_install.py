"""`install()` in a process of its own, and what code that looks for torchcodec does then."""

import sys
from pathlib import Path

import pytest
from programs import run_program

import videoloader
from videoloader.demo.videos import encode_video

# What a data set's feature does with a video: looks for the package, decodes with keywords, keeps
# where the video came from on the decoder, and knows it again later.
PROGRAM = """
import importlib.util, sys
import videoloader.compat.torchcodec
videoloader.compat.torchcodec.install()
assert importlib.util.find_spec("torchcodec") is not None and "torchcodec" in sys.modules

import torchcodec
from torchcodec import Frame, FrameBatch
from torchcodec.decoders import AudioDecoder, VideoDecoder
from torchcodec.samplers import clips_at_regular_indices
import torchcodec.transforms

assert torchcodec.__version__ and issubclass(AudioDecoder, object)
path = sys.argv[1]
for source in (path, open(path, "rb").read(), open(path, "rb")):
    video = VideoDecoder(
        source, stream_index=None, dimension_order="NCHW", num_ffmpeg_threads=1, device="cpu",
        seek_mode="exact",
    )
    video._hf_encoded = {"path": path, "bytes": None}
    video.metadata.path = path
    assert isinstance(video, VideoDecoder) and video._hf_encoded["path"] == video.metadata.path
    assert isinstance(video.get_frame_at(0), Frame)
    assert isinstance(clips_at_regular_indices(video, num_clips=2), FrameBatch)
    assert len([frame for frame in video]) == len(video) == 6
print(torchcodec.decoders.__name__)
"""


def run(program, *arguments):
    root = str(Path(videoloader.__file__).parents[1])
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", program, *arguments]
    return run_program(command, env={"PYTHONPATH": root, "PATH": "/usr/bin:/bin"})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return encode_video(tmp_path_factory.mktemp("install") / "a.mp4", size=(64, 48), frames=6)


def test_code_that_imports_torchcodec_runs_on_this_library(path):
    done = run(PROGRAM, str(path))
    assert done.stdout.strip() == "videoloader.compat.torchcodec.decoders", done.stderr


def test_importing_the_package_alone_changes_nothing():
    done = run(
        "import sys; assert 'videoloader.compat.torchcodec' not in sys.modules\n"
        "import videoloader.compat.torchcodec as t; assert 'torchcodec' not in sys.modules"
    )
    assert done.returncode == 0, done.stderr


def test_code_that_looks_up_the_version_of_torchcodec_finds_that_of_the_interface():
    done = run(
        """
from importlib import metadata
import videoloader.compat.torchcodec as ours

try:
    before = metadata.version("torchcodec")
except metadata.PackageNotFoundError:
    before = ours.__version__
for _ in range(2):
    ours.install()
assert metadata.version("torchcodec") == before, before
assert "torchcodec" in metadata.packages_distributions()
assert [d.version for d in metadata.distributions(name="torchcodec")] == [before]
metadata.version("numpy")
"""
    )
    assert done.returncode == 0, done.stderr
