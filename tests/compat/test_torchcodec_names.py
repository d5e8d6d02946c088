"""Names of torchcodec that are not ours: those of the installed package, or an error."""

import os
import sys
from pathlib import Path

import av
import pytest
from programs import run_program

import videoloader
from videoloader.compat import torchcodec

ROOT = str(Path(videoloader.__file__).parents[1])

# A package whose modules import each other by its name, as torchcodec's do.
PACKAGE = {
    "__init__.py": "from . import decoders, encoders\n__version__ = '0.13.0'\nlibrary = 'theirs'\n",
    "_core.py": "def encode(frames):\n    return f'encoded {frames}'\n",
    "decoders.py": "from torchcodec import _core\nclass VideoDecoder: pass\nclass Demuxer: pass\n",
    "encoders.py": """
from torchcodec import _core
class AudioEncoder: pass
class Encoder:
    def write(self):
        from torchcodec._core import encode
        return encode(3)
""",
}


def run(program, *paths):
    environment = {"PYTHONPATH": os.pathsep.join([ROOT, *map(str, paths)]), "PATH": "/usr/bin:/bin"}
    run_program([sys.executable, "-c", program], env=environment, check=True)


@pytest.fixture
def installed(tmp_path):
    (tmp_path / "torchcodec").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "torchcodec" / name).write_text(text)
    return tmp_path


HANDED_ON = """
import sys
{before}
import videoloader.compat.torchcodec as ours
ours.install()
import torchcodec
from torchcodec.decoders import Demuxer, VideoDecoder
from torchcodec.encoders import AudioEncoder, Encoder

assert Demuxer.__module__ == "torchcodec.decoders"
assert Encoder.__module__ == "torchcodec.encoders"
assert Encoder().write() == "encoded 3" and torchcodec.library == "theirs"
assert VideoDecoder.__module__.startswith("videoloader") and torchcodec.__version__ == "0.17.0"
assert AudioEncoder.__module__.startswith("videoloader")
assert sys.modules["torchcodec"] is ours and sys.modules["torchcodec.encoders"] is ours.encoders
assert not hasattr(torchcodec.decoders, "nothing")
"""


@pytest.mark.parametrize("before", ["", "import torchcodec"])
def test_names_that_are_not_ours_are_those_of_the_installed_package(installed, before):
    run(HANDED_ON.format(before=before), installed)


def test_names_of_a_package_that_is_missing_or_does_not_load_say_so(tmp_path):
    missing = """
import videoloader.compat.torchcodec as ours
ours.install()
try:
    ours.decoders.Demuxer
except AttributeError as error:
    assert "torchcodec.decoders.Demuxer" in str(error) and {reason!r} in str(error), error
else:
    raise SystemExit("no error")
import torchcodec
assert torchcodec is ours
"""
    # An installed torchcodec would be found; this one hides it.
    (tmp_path / "torchcodec").mkdir()
    (tmp_path / "torchcodec" / "__init__.py").write_text("raise RuntimeError('no FFmpeg\\nhere')")
    run(missing.format(reason="does not load: no FFmpeg"), tmp_path)
    hidden = "import sys, importlib.abc\nclass Hidden(importlib.abc.MetaPathFinder):\n"
    hidden += "    def find_spec(self, name, path, target=None):\n"
    hidden += "        if name == 'torchcodec': raise ModuleNotFoundError(name, name=name)\n"
    hidden += "sys.meta_path.insert(0, Hidden())\n"
    run(hidden + missing.format(reason="pip install torchcodec"))


def test_the_version_of_ffmpeg_is_that_of_pyav():
    versions = {60: 6, 61: 7, 62: 8}
    assert torchcodec.ffmpeg_major_version == versions[av.library_versions["libavcodec"][0]]
