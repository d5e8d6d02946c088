"""torchcodec's `VideoDecoder` on this library; FFmpeg's sequential decode by PyAV is the oracle."""

import copy
import dataclasses
import gc
import io
import json
import pickle
import weakref
from fractions import Fraction

import av
import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate

from videoloader import VideoError
from videoloader.compat.torchcodec import Frame, FrameBatch
from videoloader.compat.torchcodec.decoders import (
    CpuFallbackStatus,
    VideoDecoder,
    VideoStreamMetadata,
    get_nvdec_cache_capacity,
    set_cuda_backend,
    set_nvdec_cache_capacity,
)
from videoloader.compat.torchcodec.transforms import CenterCrop, Resize
from videoloader.demo.videos import encode_video
from videoloader.errors import DecodeError

FRAMES = 40
# Irregular times from 1 s on, in 1/90 s: most of them are no fractions that floats have.
PTS = (90 + np.cumsum([0, *np.tile([3, 4, 2], 13)])).tolist()


class Decoded:
    """All frames of a file as PyAV decodes and converts them."""

    def __init__(self, path):
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            found = sorted(container.decode(stream), key=lambda frame: frame.pts)
            base = Fraction(stream.time_base)
        self.data = np.stack([frame.to_ndarray(format="rgb24") for frame in found])
        self.begins = [float(frame.pts * base) for frame in found]
        self.durations = [float(frame.duration * base) for frame in found]
        self.end = float(max(frame.pts + frame.duration for frame in found) * base)

    def at(self, seconds):
        """The last frame that begins at a time or before, by looking at each."""
        return max(number for number, begin in enumerate(self.begins) if begin <= seconds)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    options = {"bf": "2", "g": "12", "threads": "1"}
    return encode_video(
        tmp_path_factory.mktemp("torchcodec") / "clip.mp4",
        size=(96, 64),
        frames=FRAMES,
        pts=PTS,
        time_base=Fraction(1, 90),
        options=options,
    )


@pytest.fixture(scope="module")
def decoded(path):
    return Decoded(path)


@pytest.fixture
def decoder(path):
    return VideoDecoder(path)


def is_same(data, expected):
    """Whether frames (..., C, H, W) are those of PyAV (..., H, W, C)."""
    return np.array_equal(data.movedim(-3, -1).numpy(), expected)


def test_numbers_give_the_frames_of_ffmpeg_and_lie_in_memory_as_it_writes_them(decoder, decoded):
    assert len(decoder) == FRAMES
    for number in (0, 17, np.int32(17), np.uint64(3), -1, -FRAMES):
        assert is_same(decoder[number], decoded.data[int(number)])
        frame = decoder.get_frame_at(number)
        assert is_same(frame.data, decoded.data[int(number)])
        assert frame.pts_seconds == decoded.begins[int(number)]
        assert frame.duration_seconds == pytest.approx(decoded.durations[int(number)], abs=1e-12)
    batch = decoder.get_frames_in_range(3, 9)
    assert batch.data.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    "key",
    [slice(0, 1), slice(15, 36, 5), slice(-4, None), slice(5, 5), slice(1000, None), slice(9, 2)],
)
def test_slices_and_ranges_are_those_of_a_list(decoder, decoded, key):
    assert is_same(decoder[key], decoded.data[key])
    batch = decoder.get_frames_in_range(
        key.start, FRAMES if key.stop is None else key.stop, key.step or 1
    )
    assert is_same(batch.data, decoded.data[key])
    assert batch.pts_seconds.tolist() == decoded.begins[key]
    assert batch.pts_seconds.dtype == batch.duration_seconds.dtype == torch.float64


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_several_numbers_come_in_their_order_repeated_and_from_the_end(decoder, decoded, kind):
    numbers = [35, 2, 2, -1]
    batch = decoder.get_frames_at(kind(numbers))
    assert isinstance(batch, FrameBatch)
    assert is_same(batch.data, decoded.data[numbers])
    assert batch.pts_seconds.tolist() == [decoded.begins[number] for number in numbers]


@pytest.mark.parametrize(
    "number", [np.array(3), torch.tensor(3), torch.tensor([3.0]), np.float32(3), Fraction(3), True]
)
def test_one_number_is_of_any_type_but_float(decoder, decoded, number):
    assert is_same(decoder.get_frame_at(number).data, decoded.data[int(number)])


def test_tensors_of_floats_are_cut_to_frame_numbers(decoder, decoded):
    numbers = torch.linspace(0, FRAMES - 1, 5)
    assert is_same(decoder.get_frames_at(numbers).data, decoded.data[[0, 9, 19, 29, 39]])
    assert is_same(decoder.get_frames_at(torch.tensor([True, False])).data, decoded.data[[1, 0]])


@pytest.mark.parametrize("numbers", [[], torch.tensor([]), range(0)])
def test_no_numbers_give_an_empty_batch_of_the_right_shape(decoder, numbers):
    batch = decoder.get_frames_at(numbers)
    assert batch.data.shape == (0, 3, 64, 96)
    assert batch.data.dtype == torch.uint8
    assert batch.pts_seconds.shape == batch.duration_seconds.shape == (0,)


def test_iterating_gives_every_frame_also_beside_other_calls(decoder, decoded):
    frames = []
    for frame in decoder:
        assert is_same(decoder[-1], decoded.data[-1])
        frames.append(frame)
    assert is_same(torch.stack(frames), decoded.data)
    small = VideoDecoder(decoder._video._given, output_dtype=torch.float32)
    assert sum(1 for _ in small) == FRAMES


@pytest.mark.parametrize("step", [0.0, 1e-9, -1e-9, 0.004, -0.004])
def test_a_time_gives_the_frame_that_began_last(decoder, decoded, step):
    times = [t + step for t in decoded.begins if decoded.begins[0] <= t + step < decoded.end]
    expected = [decoded.at(time) for time in times]
    batch = decoder.get_frames_played_at(torch.tensor(times, dtype=torch.float64))
    assert batch.pts_seconds.tolist() == [decoded.begins[number] for number in expected]
    assert is_same(batch.data, decoded.data[expected])
    for time, number in list(zip(times, expected, strict=True))[::9]:
        assert is_same(decoder.get_frame_played_at(time).data, decoded.data[number])


def test_a_range_of_time_has_the_frames_that_are_on_screen_in_it(decoder, decoded):
    begins = decoded.begins
    half = (begins[5] - begins[4]) / 2
    for start, stop, expected in (
        (begins[0], begins[5], range(5)),
        (begins[5], begins[5] + 1e-10, range(5, 6)),
        (begins[8] - half, begins[8] + half, range(7, 9)),
        (begins[4], begins[4], range(0)),
        (begins[0], decoded.end, range(FRAMES)),
        (begins[39], decoded.end, range(39, 40)),
    ):
        batch = decoder.get_frames_played_in_range(start, stop)
        assert is_same(batch.data, decoded.data[list(expected)])
        assert batch.pts_seconds.tolist() == [begins[number] for number in expected]
    assert is_same(decoder.get_all_frames().data, decoded.data)


@pytest.mark.parametrize(
    ("length", "fps", "count"),
    [(1.0, 5, 5), (0.05, 60, 3), (0.99, 10, 10), (1.0, 7.3, 7), (0.28, 10, 3), (1e-4, 1, 0)],
)
def test_another_rate_repeats_and_drops_frames(decoder, decoded, length, fps, count):
    start = decoded.begins[1]
    given = torch.tensor(fps, dtype=torch.float64) if count % 2 else Fraction(fps)
    batch = decoder.get_frames_played_in_range(start, start + length, fps=given)
    times = [start + number / fps for number in range(count)]
    assert batch.pts_seconds.tolist() == pytest.approx(times, abs=1e-9)
    assert batch.duration_seconds.tolist() == pytest.approx([1 / fps] * count)
    assert is_same(batch.data, decoded.data[[decoded.at(t) for t in batch.pts_seconds.tolist()]])


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda d: d[FRAMES], IndexError, "Invalid frame index=40 .*must be less than 40"),
        (lambda d: d[-FRAMES - 1], IndexError, "negative indices must have an absolute value"),
        (lambda d: d["0"], TypeError, "Unsupported key type"),
        (lambda d: d[2.0], TypeError, "Unsupported key type"),
        (lambda d: d[torch.tensor(3)], TypeError, "Unsupported key type"),
        (lambda d: d[::-1], RuntimeError, "Step must be greater than 0"),
        (lambda d: d.get_frame_at(FRAMES), IndexError, "must be less than 40"),
        (lambda d: d.get_frame_at(0.5), RuntimeError, "Expected a value of type"),
        (lambda d: d.get_frames_at([0, FRAMES]), IndexError, "Invalid frame index=40"),
        (lambda d: d.get_frames_at([0.3]), RuntimeError, "Expected a value of type"),
        (lambda d: d.get_frames_at(["a"]), ValueError, "Expected a value of type"),
        (lambda d: d.get_frames_at([True]), RuntimeError, "Expected a value of type"),
        (lambda d: d.get_frames_at("12"), TypeError, "Expected a value of type"),
        (lambda d: d.get_frames_at([3, "a"]), TypeError, "Expected a value of type"),
        (lambda d: d.get_frame_at("3"), RuntimeError, "Expected a value of type"),
        (lambda d: d.get_frame_at(None), RuntimeError, "Expected a value of type"),
        (lambda d: d.get_frames_at([-41]), IndexError, "and the number of frames must be known"),
        (
            lambda d: d.get_frames_at([40]),
            IndexError,
            "=40 for stream_index=0; must be less than 40",
        ),
        (lambda d: d.get_frames_played_at("1.5"), ValueError, "Couldn't convert timestamps"),
        (lambda d: d.get_frames_played_at([None]), ValueError, "Couldn't convert timestamps"),
        (lambda d: d.get_frames_played_at(None), ValueError, "Couldn't convert timestamps"),
        (lambda d: d.get_frames_played_in_range(1, 2, fps="7"), RuntimeError, "argument 'fps'"),
        (lambda d: d.get_frame_played_at(-1.0), IndexError, "Invalid pts in seconds"),
        (lambda d: d.get_frame_played_at(float("nan")), IndexError, "Invalid pts in seconds"),
        (lambda d: d.get_frames_played_at([-1]), RuntimeError, "greater than or equal to"),
        (lambda d: d.get_frames_played_at([99]), RuntimeError, "must be less than"),
        (lambda d: d.get_frames_played_at([99]), IndexError, "must be less than"),
        (lambda d: d.get_frames_played_at(["bad"]), ValueError, "Expected a value of type"),
        (lambda d: d.get_frames_played_in_range(2, 1.5), ValueError, "Invalid start seconds"),
        (lambda d: d.get_frames_played_in_range(20, 23), ValueError, "Invalid start seconds"),
        (lambda d: d.get_frames_played_in_range(1, 23), ValueError, "Invalid stop seconds"),
        (lambda d: d.get_frames_played_in_range(1, 2, fps=0), RuntimeError, "must be positive"),
    ],
)
def test_errors_are_of_torchcodecs_kinds_and_of_ours(decoder, ask, error, words):
    with pytest.raises(error, match=words) as raised:
        ask(decoder)
    assert isinstance(raised.value, VideoError)
    assert len(decoder[0]) == 3  # and the decoder goes on


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"seek_mode": "blah"}, ValueError, "Invalid seek mode"),
        ({"dimension_order": "NCDHW"}, ValueError, "Invalid dimension order"),
        ({"output_dtype": torch.int8}, ValueError, "Invalid output_dtype"),
        ({"num_ffmpeg_threads": None}, ValueError, "should be an int"),
        ({"stream_index": 40}, ValueError, "No valid stream found"),
        ({"stream_index": 40}, ValueError, "The stream index 40 is not a valid stream"),
        ({"stream_index": 40}, ValueError, "The stream at index 40 is not a video stream"),
        ({"stream_index": "a"}, TypeError, "Expected a value of type 'int'"),
        ({"stream_index": 0.0}, TypeError, "Expected a value of type 'int'"),
        ({"num_ffmpeg_threads": 1.5}, RuntimeError, "Expected a value of type 'int'"),
        ({"num_ffmpeg_threads": "2"}, RuntimeError, "Expected a value of type 'int'"),
        ({"custom_frame_mappings": 5}, TypeError, "should be a valid JSON string"),
        ({"device": "blah"}, RuntimeError, "device must be"),
        ({"custom_frame_mappings": "x"}, ValueError, "valid JSON"),
        ({"custom_frame_mappings": "[" * 100_000}, ValueError, "valid JSON"),
        ({"custom_frame_mappings": "{}"}, ValueError, "missing the required 'frames' key"),
        ({"custom_frame_mappings": '{"frames": [{}]}'}, ValueError, "keys are required"),
        (
            {"custom_frame_mappings": "{}", "seek_mode": "approximate"},
            ValueError,
            "is incompatible with",
        ),
        ({"transforms": [len]}, ValueError, "Unsupported transform"),
    ],
)
def test_wrong_options_are_refused(path, options, error, words):
    with pytest.raises(error, match=words):
        VideoDecoder(path, **options)


class ReadAndSeek:
    """A file that has no more than torchcodec asks for."""

    def __init__(self, file):
        self._file = file

    def read(self, size):
        return self._file.read(size)

    def seek(self, offset, whence):
        return self._file.seek(offset, whence)


SOURCES = {
    "str": str,
    "path": lambda path: path,
    "bytes": lambda path: path.read_bytes(),
    "tensor": lambda path: torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "file": lambda path: path.open("rb"),
    "raw file": lambda path: path.open("rb", buffering=0),
    "read and seek": lambda path: ReadAndSeek(io.BytesIO(path.read_bytes())),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_source_is_read(path, decoded, source):
    given = SOURCES[source](path)
    decoder = VideoDecoder(given)
    assert is_same(decoder.get_frames_at([30, 1]).data, decoded.data[[30, 1]])
    assert decoder.metadata.num_frames_from_header == FRAMES
    if hasattr(given, "close"):
        assert is_same(decoder[7], decoded.data[7]), "the header was read from the same file"
        given.close()


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        (123, TypeError, "Unknown source type"),
        (np.zeros(4, np.uint8), TypeError, "Unknown source type"),
        (io.StringIO("text"), TypeError, "binary reading?"),
        ("/nowhere/clip.mp4", RuntimeError, "clip.mp4"),
        ("/nowhere/clip.mp4", OSError, "clip.mp4"),
        (b"", ValueError, "empty"),
        (b"\0no video" * 100, RuntimeError, "video"),
        (torch.zeros(10), RuntimeError, "uint8"),
    ],
)
def test_what_is_no_video_is_refused(source, error, words):
    with pytest.raises(error, match=words):
        VideoDecoder(source)


@pytest.mark.parametrize("seek_mode", ["exact", "approximate"])
def test_metadata_is_that_of_ffmpeg_and_of_the_index(path, decoded, seek_mode):
    metadata = VideoDecoder(path, seek_mode=seek_mode).metadata
    begin, end = decoded.begins[0], decoded.end
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        header = {
            "duration_seconds_from_header": float(stream.duration * stream.time_base),
            "begin_stream_seconds_from_header": float(stream.start_time * stream.time_base),
            "bit_rate": stream.bit_rate,
            "num_frames_from_header": stream.frames,
            "average_fps_from_header": float(stream.base_rate),
            "pixel_aspect_ratio": stream.codec_context.sample_aspect_ratio or 0,
        }
    is_exact = seek_mode == "exact"
    expected = header | {
        "codec": "h264",
        "stream_index": 0,
        "media_type": "video",
        "width": 96,
        "height": 64,
        "rotation": None,
        "color_primaries": None,
        "color_space": None,
        "color_transfer_characteristic": None,
        "pixel_format": "yuv420p",
        "begin_stream_seconds_from_content": begin if is_exact else None,
        "end_stream_seconds_from_content": end if is_exact else None,
        "num_frames_from_content": FRAMES if is_exact else None,
        "duration_seconds": pytest.approx(end - begin),
        "begin_stream_seconds": begin,
        "end_stream_seconds": end,
        "num_frames": FRAMES,
        "average_fps": pytest.approx(FRAMES / (end - begin)),
    }
    assert dataclasses.asdict(metadata) == expected
    assert "num_frames_from_header: 40\n" in repr(metadata)
    assert "begin_stream_seconds: 1\n" in repr(metadata), "as torchcodec prints whole numbers"
    with pytest.raises(AttributeError):
        _ = metadata.nothing_of_the_kind


def test_the_header_is_not_read_unless_it_is_asked_for(path, monkeypatch):
    read = []
    monkeypatch.setattr(
        "videoloader.compat.torchcodec.video_decoder.read_header", lambda *_: read.append(1)
    )
    decoder = VideoDecoder(path)
    decoder.metadata.path = "as datasets sets it"
    assert decoder.metadata.num_frames == FRAMES
    assert not read


def test_metadata_may_be_copied_changed_and_put_back(decoder):
    before = copy.copy(decoder.metadata)
    decoder.metadata.begin_stream_seconds = None
    decoder.metadata = before
    assert decoder.metadata.begin_stream_seconds == 1.0
    assert decoder.metadata.bit_rate > 0
    assert dataclasses.replace(before, codec="other").codec == "other"
    assert isinstance(before, VideoStreamMetadata)


@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
def test_the_order_of_dimensions_holds_for_every_call(path, order):
    decoder = VideoDecoder(path, dimension_order=order)
    shape = (3, 64, 96) if order == "NCHW" else (64, 96, 3)
    for data in (
        decoder[0],
        next(iter(decoder)),
        decoder.get_frame_at(0).data,
        decoder.get_frames_at([0, 1]).data[1],
        decoder.get_frames_in_range(0, 4).data[3],
        decoder.get_frame_played_at(1).data,
        decoder.get_frames_played_at([1, 1.5]).data[1],
        decoder.get_frames_played_in_range(1, 1.5).data[2],
    ):
        assert data.shape == shape


@pytest.mark.parametrize("size", [(96, 64), (70, 46)])
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv444p", "yuv444p10le"])
def test_floats_are_swscales_rgb_of_16_bits(tmp_path, pixel_format, size):
    path = encode_video(tmp_path / "a.mp4", size=size, frames=9, pixel_format=pixel_format)
    with av.open(str(path)) as container:
        shown = [
            frame.to_ndarray(format="rgb48le", interpolation="POINT")
            for frame in container.decode(video=0)
        ]
    wanted = torch.from_numpy(np.stack(shown).astype(np.float32)).permute(0, 3, 1, 2) / 65535
    decoder = VideoDecoder(path, output_dtype=torch.float32)
    assert torch.equal(decoder.get_all_frames().data, wanted)
    assert torch.equal(decoder[3], wanted[3])
    turned = VideoDecoder(path, output_dtype=torch.float32, dimension_order="NHWC")
    assert torch.equal(turned[8], wanted[8].permute(1, 2, 0))


def test_floats_are_cropped_and_resized(path):
    whole = VideoDecoder(path, output_dtype=torch.float32).get_frames_at([3, 8]).data
    for transforms, part in (
        ([CenterCrop((40, 64))], whole[..., 12:52, 16:80]),
        ([Resize((48, 64))], interpolate(whole, (48, 64), mode="bilinear", antialias=True)),
    ):
        decoder = VideoDecoder(path, output_dtype=torch.float32, transforms=transforms)
        data = decoder.get_frames_at([3, 8]).data
        assert data.shape == part.shape
        assert (data - part).abs().mean() < 0.005


@pytest.mark.parametrize(
    ("codec", "pixel_format", "dtype"),
    [
        ("libx264", "yuv420p", torch.uint8),
        ("libx264", "yuv420p10le", torch.float32),
        ("libx264", "yuv444p10le", torch.float32),
        ("ffv1", "yuv420p9le", torch.float32),
        ("ffv1", "gray16le", torch.float32),
        ("ffv1", "yuv422p", torch.uint8),
    ],
)
def test_more_than_8_bits_are_floats_where_the_type_is_left_to_the_video(
    tmp_path, codec, pixel_format, dtype
):
    path = tmp_path / "a.mkv"
    encode_video(path, codec=codec, size=(96, 64), frames=3, pixel_format=pixel_format)
    assert VideoDecoder(path, output_dtype="auto")[0].dtype == dtype


def test_hdr_becomes_float_where_the_type_is_left_to_the_video(tmp_path):
    options = {"x265-params": "transfer=smpte2084:colorprim=bt2020:colormatrix=bt2020nc:pools=1"}
    path = encode_video(
        tmp_path / "hdr.mp4",
        codec="libx265",
        size=(96, 64),
        frames=8,  # x265 leaves times unset in streams shorter than its delay
        pixel_format="yuv420p10le",
        options=options,
    )
    data = VideoDecoder(path, output_dtype="auto")[0]
    assert data.dtype == torch.float32
    assert 0 <= data.min() < data.max() <= 1
    assert len(torch.unique(data)) > 256, "more than 8 bits"


def test_frame_mappings_of_the_stream_are_taken_and_others_refused(path, decoded):
    frames = [
        {"pts": p, "duration": 1, "key_frame": 0} for p in VideoDecoder(path)._video.index.pts
    ]
    text = json.dumps({"frames": frames}, default=int)
    decoder = VideoDecoder(path, custom_frame_mappings=io.StringIO(text))
    assert is_same(decoder[9], decoded.data[9])
    frames[3]["pts"] += 1
    with pytest.raises(ValueError, match="with other times"):
        VideoDecoder(path, custom_frame_mappings=json.dumps({"frames": frames}, default=int))


def test_a_decoder_pickles_and_says_what_it_is(path, decoded):
    decoder = pickle.loads(pickle.dumps(VideoDecoder(path, dimension_order="NHWC")))
    assert np.array_equal(decoder[11].numpy(), decoded.data[11])
    assert decoder.metadata.bit_rate > 0
    assert "40 frames" in repr(decoder)
    assert not decoder.cpu_fallback
    assert "No fallback required" in str(decoder.cpu_fallback)
    assert "Unknown" in str(CpuFallbackStatus())
    assert decoder._get_key_frame_indices().tolist() == [0, 12, 24, 36]


def test_copies_of_a_decoder_outlive_it(path, decoded):
    for make in (copy.copy, copy.deepcopy):
        decoder = make(VideoDecoder(path))
        gc.collect()
        assert is_same(decoder[11], decoded.data[11])


def test_any_number_of_threads_is_taken(path, decoded):
    for threads in (-1, 0, 10**12, torch.tensor(2), np.int32(2)):
        assert is_same(VideoDecoder(path, num_ffmpeg_threads=threads)[11], decoded.data[11])


def test_frames_unpack_and_batches_are_indexed_and_iterated(decoder):
    data, pts, duration = frame = decoder.get_frame_at(4)
    assert (data is frame.data, pts, duration) == (True, frame.pts_seconds, frame.duration_seconds)
    assert type(pts) is type(duration) is float
    batch = decoder.get_frames_at([4, 5, 6])
    assert len(batch) == 3
    assert [part.pts_seconds.item() for part in batch] == batch.pts_seconds.tolist()
    assert torch.equal(batch[1:].data, batch.data[1:])
    assert torch.equal(batch[[0, 2]].duration_seconds, batch.duration_seconds[[0, 2]])
    assert batch[0].data.shape == (3, 64, 96)
    assert "data (shape): torch.Size([3, 3, 64, 96])" in repr(batch)
    with pytest.raises(IndexError):
        batch[3]
    with pytest.raises(ValueError, match="leading dimensions"):
        FrameBatch(batch.data, batch.pts_seconds[:1], batch.duration_seconds)
    with pytest.raises(ValueError, match="3-dimensional"):
        Frame(batch.data, 0, 0)
    with pytest.raises(ValueError, match="at least 3-dimensional"):
        FrameBatch(batch.data[0, 0], batch.pts_seconds[0], batch.duration_seconds[0])


def test_settings_of_gpus_are_taken_and_checked(path):
    with set_cuda_backend("ffmpeg"), pytest.raises(RuntimeError, match="no GPU"):
        VideoDecoder(path, device="cuda")
    with pytest.raises(ValueError, match="Invalid CUDA backend"), set_cuda_backend("other"):
        pass
    before = get_nvdec_cache_capacity()
    set_nvdec_cache_capacity(3)
    assert get_nvdec_cache_capacity() == 3
    set_nvdec_cache_capacity(before)
    with pytest.raises(ValueError, match="non-negative"):
        set_nvdec_cache_capacity(-1)


def test_frames_asked_for_in_a_row_are_decoded_a_few_at_a_time(path, decoded, monkeypatch):
    requests = []
    data = VideoDecoder._data

    def noted(self, frames):
        requests.append(list(frames))
        return data(self, frames)

    monkeypatch.setattr(VideoDecoder, "_data", noted)
    decoder = VideoDecoder(path)
    frames = [decoder[number] for number in range(len(decoder))]
    assert all(is_same(frame, decoded.data[n]) for n, frame in enumerate(frames))
    assert requests[:6] == [[0], [1], [2], [3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert sum(map(len, requests)) == len(decoder)
    requests.clear()
    for number in (7, 8, 20, 21, 22, 3, 3, 4):
        assert is_same(decoder.get_frame_at(number).data, decoded.data[number])
    assert requests == [[7], [8], [20], [21], [22], [3], [3], [4]]
    for frame in frames:
        frame.fill_(0)  # each is the caller's own
    assert is_same(decoder[5], decoded.data[5])


def test_a_damaged_frame_ahead_does_not_cost_those_before_it(path, monkeypatch):
    data = VideoDecoder._data

    def failing(self, frames):
        if 6 in frames:
            raise DecodeError("frame 6 does not decode")
        return data(self, frames)

    monkeypatch.setattr(VideoDecoder, "_data", failing)
    decoder = VideoDecoder(path)
    for number in range(6):
        assert decoder[number].shape == (3, 64, 96)
    with pytest.raises(DecodeError):
        decoder[6]


def test_a_decoder_goes_with_its_last_reference(path):
    decoder = VideoDecoder(path)
    for number in range(8):
        assert decoder[number] is not None
    gone = weakref.ref(decoder)
    gc.disable()
    try:
        del decoder
        assert gone() is None
    finally:
        gc.enable()
