"""Errors of drop-ins are instances of what the replaced libraries raise for the same mistakes.

Where a library is installed, it is asked, too; the classes of others are those of their source:
LeRobot 0.4.4, PyTorchVideo 0.1.5, torchvision 0.22.
"""

import importlib
from pathlib import Path
from types import SimpleNamespace

import cv2
import pytest

import videoloader as vl
from videoloader.compat import lerobot, opencv, pytorchvideo, torchvision

OURS = {
    "torchcodec.decoders": "videoloader.compat.torchcodec.decoders",
    "decord": "videoloader.compat.decord",
}
# Libraries that are asked beside ours: what a user imports, a call, and the class of its error, or
# the name of one of the library's own.
ASKED = [
    *(
        ("torchcodec.decoders", lambda m, f, call=call: call(m.VideoDecoder, f), error)
        for call, error in [
            (lambda make, f: make(f.missing), RuntimeError),
            (lambda make, f: make(f.broken), RuntimeError),
            (lambda make, f: make(f.cut), RuntimeError),
            (lambda make, f: make(f.empty), RuntimeError),
            (lambda make, f: make(b"no video"), RuntimeError),
            (lambda make, _: make(5), TypeError),
            (lambda make, f: make(f.video, dimension_order="HWC"), ValueError),
            (lambda make, f: make(f.video, seek_mode="fast"), ValueError),
            (lambda make, f: make(f.video, device="abacus"), RuntimeError),
            (lambda make, f: make(f.video, stream_index=9), ValueError),
            (lambda make, f: make(f.video, num_ffmpeg_threads=None), ValueError),
            (lambda make, f: make(f.video)[50], IndexError),
            (lambda make, f: make(f.video)[-51], IndexError),
            (lambda make, f: make(f.video)["first"], TypeError),
            (lambda make, f: make(f.video).get_frame_at(50), IndexError),
            (lambda make, f: make(f.video).get_frame_at(1.5), RuntimeError),
            (lambda make, f: make(f.video).get_frames_at([0, 50]), IndexError),
            (lambda make, f: make(f.video).get_frames_at(["first"]), ValueError),
            (lambda make, f: make(f.video).get_frames_in_range(0, 9, 0), ValueError),
            (lambda make, f: make(f.video).get_frames_in_range(0, 9, -1), RuntimeError),
            (lambda make, f: make(f.video).get_frame_played_at(99.0), IndexError),
            (lambda make, f: make(f.video).get_frame_played_at(-1.0), IndexError),
            (lambda make, f: make(f.video).get_frames_played_at([99.0]), RuntimeError),
            (lambda make, f: make(f.video).get_frames_played_in_range(98.0, 99.0), ValueError),
            (lambda make, f: make(f.video).get_frames_played_in_range(1.0, 0.5), ValueError),
            (lambda make, f: make(f.video).get_frames_played_in_range(0, 1, fps=0), RuntimeError),
        ]
    ),
    ("torchcodec.decoders", lambda m, f: m.AudioDecoder(f.video), ValueError),
    ("torchcodec.decoders", lambda m, f: m.AudioDecoder(f.missing), RuntimeError),
    *(
        ("decord", lambda m, f, call=call: call(m.VideoReader, f), error)
        for call, error in [
            (lambda make, f: make(f.missing), RuntimeError),
            (lambda make, f: make(f.broken), RuntimeError),
            (lambda make, f: make(f.cut), RuntimeError),
            (lambda make, f: make(f.empty), RuntimeError),
            (lambda make, f: make(f.video)[50], IndexError),
            (lambda make, f: make(f.video)[-51], IndexError),
            (lambda make, f: make(f.video)["first"], TypeError),
            (lambda make, f: make(f.video).get_batch([0, 50]), IndexError),
            (lambda make, f: make(f.video).get_batch(["first"]), ValueError),
            (lambda make, f: make(f.video).seek(50), AssertionError),
            (lambda make, f: make(f.video).seek_accurate(-1), AssertionError),
            (lambda make, f: make(f.video).skip_frames("two"), TypeError),
            (lambda make, f: make(f.video).get_frame_timestamp(50), IndexError),
            (lambda make, f: make(f.video, ctx="cpu"), AssertionError),
        ]
    ),
    ("decord", lambda m, _: m.bridge.set_bridge("abacus"), AssertionError),
    ("decord", lambda m, f: m.AudioReader(f.missing), "DECORDError"),
    ("decord", lambda m, f: m.AVReader(f.missing), "DECORDError"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory, clip):
    folder = tmp_path_factory.mktemp("errors")
    whole = Path(clip).read_bytes()
    found = SimpleNamespace(video=str(clip), missing=str(folder / "missing.mp4"))
    contents = {"broken": b"no video at all" * 99, "cut": whole[: len(whole) // 3], "empty": b""}
    for name, data in contents.items():
        path = folder / f"{name}.mp4"
        path.write_bytes(data)
        setattr(found, name, str(path))
    yield found
    lerobot.default_cache().clear()


@pytest.mark.parametrize(("library", "call", "error"), ASKED)
def test_the_drop_in_raises_what_the_library_raises(files, library, call, error):
    raises(error, importlib.import_module(OURS[library]), call, files)


@pytest.mark.parametrize(("library", "call", "error"), ASKED)
def test_the_library_raises_it(files, library, call, error):
    try:
        module = importlib.import_module(library)
    except (ImportError, OSError, RuntimeError) as reason:
        pytest.skip(f"needs {library}: {str(reason).strip().partition(chr(10))[0]}")
    raises(error, module, call, files)


def raises(error, module, call, files):
    with pytest.raises(getattr(module, error) if isinstance(error, str) else error):
        call(module, files)


FRAMES = lerobot.decode_video_frames
CLIP = pytorchvideo.EncodedVideo.from_path


@pytest.mark.parametrize(
    ("call", "errors"),
    [
        (lambda f: FRAMES(f.missing, [0.0], 0.1), (FileNotFoundError,)),
        (lambda f: FRAMES(f.broken, [0.0], 0.1), (RuntimeError, ValueError)),  # by its backends
        (lambda f: FRAMES(f.video, [9.0], 0.1), (ValueError,)),
        (lambda f: CLIP(f.missing), (FileNotFoundError,)),
        (lambda f: CLIP(f.broken), (RuntimeError,)),
        (lambda f: CLIP(f.cut), (RuntimeError,)),
        (lambda f: torchvision.read_video(f.missing), (RuntimeError, FileNotFoundError)),
        (lambda f: torchvision.read_video(f.video, 2, 1), (ValueError,)),
        (lambda f: torchvision.read_video(f.video, output_format="HWC"), (ValueError,)),
        (lambda f: torchvision.VideoReader(f.missing), (FileNotFoundError,)),
        (lambda f: torchvision.VideoReader(f.broken), (ValueError,)),
        (lambda _: torchvision.VideoReader(""), (ValueError,)),
        (lambda f: torchvision.VideoClips([f.video], 4).get_clip(99), (IndexError,)),
    ],
)
def test_errors_of_libraries_that_are_not_asked(files, call, errors):
    for error in errors:
        with pytest.raises(error) as raised:
            call(files)
    assert isinstance(raised.value, vl.errors.VideoError | IndexError)


def capture(make, source=None, *, raises=True):
    found = make() if source is None else make(source)
    found.setExceptionMode(raises)
    return found


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda make, f: capture(make).open(f.missing), cv2.error),
        (lambda make, f: capture(make).open(f.broken), cv2.error),
        (lambda make, f: capture(make, f.video).retrieve(), cv2.error),
        (lambda make, _: capture(make).read(), cv2.error),
        (lambda make, _: capture(make).set(cv2.CAP_PROP_POS_FRAMES, 1), cv2.error),
        (lambda make, f: capture(make, f.video).set(99999, 1), cv2.error),
        (lambda make, f: capture(make, f.video).read("picture"), cv2.error),
        (lambda make, f: capture(make, f.video).get("size"), TypeError),
        (lambda make, f: capture(make, f.video).set("size", 1), TypeError),
        (lambda make, f: capture(make, f.video).set(cv2.CAP_PROP_POS_FRAMES, "two"), TypeError),
        (lambda make, _: make(1.5), cv2.error),
        (lambda make, f: make(f.video, "ffmpeg"), cv2.error),
    ],
)
def test_opencv_raises_the_same(files, call, error):
    for make in (cv2.VideoCapture, opencv.VideoCapture):
        with pytest.raises(error):
            call(make, files)


def test_opencv_without_exceptions_gives_the_same(files):
    for make in (cv2.VideoCapture, opencv.VideoCapture):
        closed = capture(make, raises=False)
        opened = capture(make, files.video, raises=False)
        assert [closed.open(files.missing), closed.open(files.broken)] == [False, False]
        assert [closed.read(), opened.retrieve()] == [(False, None)] * 2
        assert not closed.set(cv2.CAP_PROP_POS_FRAMES, 1)
        assert not opened.set(99999, 1)
        assert opened.set(cv2.CAP_PROP_POS_FRAMES, float("nan"))
        assert opened.read()[0]
        assert opened.set(cv2.CAP_PROP_POS_FRAMES, float("inf"))
