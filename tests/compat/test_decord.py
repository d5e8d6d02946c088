"""`compat.decord`: decord's calls, and frames equal to FFmpeg's full decode (by PyAV)."""

import io
import sys
import threading
from itertools import pairwise

import av
import numpy as np
import pytest
import torch
from fake_gpu import fake_gpu  # noqa: F401  (a fixture)
from gpu_decoder import consumer, decoder  # noqa: F401  (fixtures)
from peer_frames import decoded
from tagged_videos import scaled_by_ffmpeg, tagged_video

import videoloader as vl
from videoloader.compat import decord
from videoloader.compat.decord import VideoLoader, VideoReader, bridge, cpu, gpu
from videoloader.demo.videos import X264, encode_video

COUNT = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Untagged HD with B-frames, a keyframe every 25 frames."""
    path = tmp_path_factory.mktemp("decord") / "clip.mp4"
    options = {**X264, "g": "25", "bf": "2", "sc_threshold": "0"}
    return str(encode_video(path, frames=COUNT, size=(64, 720), fps=30, options=options))


@pytest.fixture(scope="module")
def frames(path):
    return decoded(path)


@pytest.fixture(autouse=True)
def native():
    yield
    bridge.reset_bridge()


@pytest.fixture
def reader(path):
    return VideoReader(path, ctx=cpu(0), num_threads=1)


def test_frames_are_those_of_a_full_decode_in_any_order(reader, frames):
    assert len(reader) == COUNT
    assert (reader.width, reader.height) == (64, 720)
    for number in (0, 41, 7, 8, 9, 40, -1, np.int64(3)):
        assert np.array_equal(reader[number].asnumpy(), frames[number])
    assert np.array_equal(reader[5:50:9].asnumpy(), frames[5:50:9])
    assert np.array_equal(reader[::-20].asnumpy(), frames[::-20])
    assert reader[10:10].shape == (0, 720, 64, 3)


@pytest.mark.parametrize(
    ("pixel_format", "size"),
    [("yuv420p10le", (96, 64)), ("yuv422p10le", (95, 64)), ("yuv444p", (95, 63))],
)
def test_chroma_of_deep_and_odd_pictures_has_decords_filter(tmp_path, pixel_format, size):
    """decord's pictures go through FFmpeg's scale filter, which is bicubic by default."""
    path = tagged_video(tmp_path / "a.mp4", size=size, pixel_format=pixel_format, matrix="bt709")
    wanted = scaled_by_ffmpeg(path, size)
    reader = VideoReader(str(path))
    assert np.array_equal(reader[0].asnumpy(), wanted)
    assert np.array_equal(reader.get_batch([1, 0]).asnumpy()[1], wanted)
    assert np.array_equal(next(iter(VideoReader(str(path)))).asnumpy(), wanted)


@pytest.mark.parametrize("threads", [0, 1])
def test_frames_one_after_another_are_those_of_a_full_decode(path, frames, threads):
    reader = VideoReader(path, num_threads=threads)
    assert all(
        np.array_equal(f.asnumpy(), wanted) for f, wanted in zip(reader, frames, strict=True)
    )
    assert all(np.array_equal(reader[n].asnumpy(), frames[n]) for n in range(20, COUNT))


@pytest.mark.parametrize(
    "indices",
    [
        [0, 59, 3, 3, -1],
        range(4, 40, 7),
        np.array([12, 2], np.int32),
        torch.tensor([9, 1]),
        (5,),
        np.linspace(0, COUNT - 1, 8).astype(int),
        7,
    ],
)
def test_a_batch_takes_any_kind_of_numbers(reader, frames, indices):
    batch = reader.get_batch(indices)
    wanted = frames[np.asarray(indices).reshape(-1)]
    assert np.array_equal(batch.asnumpy(), wanted)
    assert batch.shape == wanted.shape


def test_an_empty_batch_has_no_frames(reader):
    assert reader.get_batch([]).shape == (0, 720, 64, 3)


def test_numbers_outside_are_an_index_error(reader):
    for call in (
        lambda: reader[COUNT],
        lambda: reader[-COUNT - 1],
        lambda: reader.get_batch([0, COUNT]),
        lambda: reader.get_batch([-COUNT - 1]),
        lambda: reader.seek(COUNT),
        lambda: reader.seek_accurate(-1),
    ):
        with pytest.raises(IndexError, match=rf"clip\.mp4.*{COUNT} frames"):
            call()
    with pytest.raises(IndexError):
        reader.get_batch([float("nan")])


def test_floats_are_cut_to_frame_numbers(reader, frames):
    for floats in (np.linspace(0, COUNT - 1, 7), torch.linspace(0, COUNT - 1, 7).double()):
        wanted = [int(value) for value in floats.tolist()]
        assert np.array_equal(reader.get_batch(floats).asnumpy(), frames[wanted])
        assert reader.get_frame_timestamp(floats).shape == (7, 2)


@pytest.mark.parametrize("name", ["__getitem__", "seek", "seek_accurate", "skip_frames"])
def test_one_number_is_an_integer(reader, name):
    for wrong in (2.0, "2", None):
        with pytest.raises(decord.DECORDError, match="integer") as raised:
            getattr(reader, name)(wrong)
        assert isinstance(raised.value, TypeError)


def test_what_decord_asserts_is_an_assertion_error(path, reader):
    for call in (
        lambda: reader.seek(COUNT),
        lambda: reader.seek_accurate(-1),
        lambda: reader.skip_frames(0),
        lambda: VideoReader(path, ctx="cpu"),
        lambda: VideoLoader(path, cpu(0), (4, 48, 64, 3), 0, 0, 0),
        lambda: VideoLoader([path], cpu(0), (4, 48, 64), 0, 0, 0),
        lambda: bridge.set_bridge("bad"),
        lambda: bridge.set_bridge(5),
    ):
        with pytest.raises(AssertionError) as raised:
            call()
        assert isinstance(raised.value, vl.VideoError)
    with pytest.raises(ImportError, match="tensorflow"):
        bridge.set_bridge("tensorflow")


def test_next_goes_on_behind_the_last_frame_that_a_batch_decoded(reader, frames):
    for numbers, after in (([3, 2, 3], 3), ([27, 6, 38, 27], 39), ([9, 5], 6), ([4, 4], 5)):
        reader.get_batch(numbers)
        assert np.array_equal(reader.next().asnumpy(), frames[after])


def test_options_of_a_reader_are_integers(path):
    for wrong in ({"width": "64"}, {"height": 48.0}, {"num_threads": None}):
        with pytest.raises(decord.DECORDError, match="integer"):
            VideoReader(path, **wrong)
    reader = VideoReader(path, num_threads=10**12, fault_tol=None, width=np.int64(32), height=16)
    assert reader[0].shape == (16, 32, 3)


def test_next_goes_on_from_whatever_was_given_last(reader, frames):
    def number():
        shown = reader.next().asnumpy()
        (found,) = (n for n in range(COUNT) if np.array_equal(frames[n], shown))
        return found

    assert [number(), number()] == [0, 1]
    reader.seek(0)
    assert number() == 0
    reader.seek_accurate(33)
    assert [number(), number()] == [33, 34]
    reader[7]
    assert number() == 8
    reader.get_batch([3, 9])
    assert number() == 10
    reader.skip_frames(5)
    assert [number(), number()] == [16, 17]
    reader.skip_frames()
    assert number() == 19
    reader.skip_frames(2)
    assert number() == 22
    reader.seek_accurate(COUNT - 1)
    reader.next()
    with pytest.raises(StopIteration):
        reader.next()
    reader.seek(3)
    reader.skip_frames(1000)
    with pytest.raises(StopIteration):
        reader.next()


def test_sequential_frames_are_decoded_once(path, monkeypatch):
    from videoloader.decoding.cpu import frame_decoder

    fed = []
    original = frame_decoder.make_packet
    monkeypatch.setattr(frame_decoder, "make_packet", lambda p, n: fed.append(n) or original(p, n))
    reader = VideoReader(path, num_threads=1)
    for number in range(len(reader)):
        reader[number]
    assert len(fed) <= COUNT + 1


@pytest.mark.parametrize("kind", ["path", "BytesIO", "file", "bytes"])
def test_sources(path, frames, kind, tmp_path):
    from pathlib import Path

    if kind == "file":
        with open(path, "rb") as file:
            reader = VideoReader(file, num_threads=1)
    else:
        data = Path(path).read_bytes()
        given = {"path": Path(path), "BytesIO": io.BytesIO(data), "bytes": data}[kind]
        reader = VideoReader(given)
    assert np.array_equal(reader.get_batch([31, 2]).asnumpy(), frames[[31, 2]])


@pytest.mark.parametrize(("width", "height"), [(40, 30), (128, 90), (-1, 90), (32, -1)])
def test_frames_are_resized_as_by_ffmpegs_scale_filter(path, width, height):
    """decord's filter graph: scale with its default flags, then rgb24."""
    wanted = scaled_by_ffmpeg(path, (720 if height < 0 else height, 64 if width < 0 else width))
    reader = VideoReader(path, width=width, height=height)
    assert (reader.height, reader.width) == wanted.shape[:2]
    for given in (reader[0], reader.get_batch([0])[0], next(iter(reader))):
        assert np.array_equal(given.asnumpy(), wanted)
    assert np.array_equal(reader[1].asnumpy(), reader.get_batch([1])[0].asnumpy())


def test_times_count_from_the_first_frame(path, reader):
    with av.open(path) as container:
        stream = container.streams.video[0]
        times = sorted(f.pts * float(stream.time_base) for f in container.decode(stream))
    found = reader.get_frame_timestamp(range(COUNT))
    assert found.shape == (COUNT, 2)
    assert np.allclose(found[:, 0], np.array(times) - times[0], atol=1e-5)
    assert np.allclose(found[:-1, 1], found[1:, 0])
    assert np.allclose(reader.get_frame_timestamp(-1), found[-1])
    assert np.allclose(reader.get_frame_timestamp(slice(2, 9, 3)), found[2:9:3])
    assert reader.get_frame_timestamp([[1, 2], [3, 4]]).shape == (2, 2, 2)
    assert reader.get_avg_fps() == pytest.approx(30)
    assert reader.get_key_indices() == [0, 25, 50]


def test_the_native_array_behaves_as_decords(reader, frames):
    array = reader[4]
    assert (array.shape, array.dtype) == ((720, 64, 3), np.uint8)
    assert str(array.ctx) == str(array.context) == "cpu(0)"
    assert np.array_equal(np.asarray(array), frames[4])
    assert np.array(array, dtype=np.float32).dtype == np.float32
    for tensor in (torch.from_dlpack(array), torch.utils.dlpack.from_dlpack(array.to_dlpack())):
        assert np.array_equal(tensor.numpy(), frames[4])
    assert np.array_equal(np.from_dlpack(array), frames[4])
    assert np.array_equal(array.copyto(cpu(0)).asnumpy(), frames[4])
    assert "NDArray" in repr(array)
    assert np.array_equal(decord.nd.array([1, 2]).asnumpy(), [1, 2])


def test_arrays_stay_what_they_are_while_others_are_read(path, frames):
    reader = VideoReader(path)
    batches = [reader.get_batch([n, n + 1]).asnumpy() for n in range(0, COUNT - 1, 7)]
    for n, batch in zip(range(0, COUNT - 1, 7), batches, strict=True):
        assert np.array_equal(batch, frames[n : n + 2])


def test_contexts():
    assert cpu(0) == cpu()
    assert (gpu(1).device_type, gpu(1).device_id, str(gpu(1))) == (2, 1, "gpu(1)")
    with pytest.raises(vl.errors.ArgumentError, match="ctx"):
        VideoReader("a.mp4", ctx="cpu")


def test_a_gpu_that_is_not_there_is_an_error_that_says_so(path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(decord.DECORDError, match=r"no GPU; use ctx=cpu\(0\)$"):
        VideoReader(path, ctx=gpu(0))


def test_a_gpu_decodes_resized_frames_too(decoder, path, frames, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("videoloader.decoding.batch_decoder.shared_decoder", lambda device: decoder)
    reader = VideoReader(path, ctx=gpu(0))
    assert np.array_equal(reader.get_batch([31, 2]).asnumpy(), frames[[31, 2]])
    assert np.array_equal(reader[7].asnumpy(), frames[7])
    small = VideoReader(path, ctx=gpu(0), width=32, height=90)
    assert small.get_batch([31, 2]).shape == (2, 90, 32, 3)
    assert decoder.stats()["routed"] == {}


def test_bridges(reader, frames):
    bridge.set_bridge("torch")
    assert torch.equal(reader.get_batch([3, 1]), torch.from_numpy(frames[[3, 1]]))
    assert isinstance(reader[0], torch.Tensor)
    bridge.set_bridge("numpy")
    assert np.array_equal(reader[2], frames[2])
    bridge.set_bridge("native")
    assert np.array_equal(bridge.to_torch(reader[2]).numpy(), frames[2])
    assert np.array_equal(bridge.to_numpy(reader[2]), frames[2])
    assert bridge.from_torch(torch.zeros(3)).shape == (3,)
    with bridge.use_torch():
        assert isinstance(reader[0], torch.Tensor)
    assert isinstance(reader[0], decord.NDArray)
    for name in ("tensorflow", "mxnet", "tvm"):
        with pytest.raises(vl.errors.UnsupportedError, match=name):
            bridge.set_bridge(name)
    with pytest.raises(ValueError, match="native, torch, numpy"):
        bridge.set_bridge("jax")


def test_the_bridge_is_one_of_the_thread():
    found = []

    def ask(new=None):
        if new:
            bridge.set_bridge(new)
        found.append(type(bridge.bridge_out(torch.zeros(1))).__name__)

    bridge.set_bridge("torch")
    for new in (None, "numpy"):
        thread = threading.Thread(target=ask, args=(new,))
        thread.start()
        thread.join()
    ask()
    assert found == ["Tensor", "ndarray", "Tensor"]


@pytest.mark.parametrize("bad", ["missing", "garbage", "io"])
def test_what_does_not_open_is_decords_error(tmp_path, bad):
    source = tmp_path / "missing.mp4"
    if bad != "missing":
        source = tmp_path / "garbage.mp4"
        source.write_bytes(b"garbage" * 100)
    given = io.BytesIO(source.read_bytes()) if bad == "io" else str(source)
    with pytest.raises(decord.DECORDError) as caught:
        VideoReader(given)
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, vl.VideoError)
    assert caught.value.__cause__ is not None


@pytest.fixture
def damaged(path, tmp_path):
    """The clip with one packet destroyed, and the frames that need it."""
    from pathlib import Path

    index = vl.index_video(path)
    data = bytearray(Path(path).read_bytes())
    packet = index.packets[30]
    begin = int(packet["offset"]) + 5
    data[begin : begin + int(packet["size"]) - 5] = b"\xff" * (int(packet["size"]) - 5)
    broken = tmp_path / "damaged.mp4"
    broken.write_bytes(data)
    bad = []
    with vl.Video(str(broken)) as video:
        for number in range(COUNT):
            try:
                video[number]
            except vl.errors.DecodeError:
                bad.append(number)
    assert bad
    assert 0 not in bad
    return str(broken), bad


def test_damaged_frames_are_errors_unless_they_are_tolerated(damaged, frames):
    path, bad = damaged
    reader = VideoReader(path)
    with pytest.raises(decord.DECORDError, match=rf"damaged\.mp4: frame {bad[0]}"):
        reader.get_batch([0, bad[0]])
    assert np.array_equal(reader.get_batch([0, 10]).asnumpy(), frames[[0, 10]])
    for threads in (1, 2):
        reader = VideoReader(path, num_threads=threads)
        for number in range(COUNT):  # the others can be read, one after another too
            if number in bad:
                with pytest.raises(decord.DECORDError):
                    reader[number]
            else:
                assert np.array_equal(reader[number].asnumpy(), frames[number])
    tolerant = VideoReader(path, fault_tol=len(bad))
    batch = tolerant.get_batch(range(COUNT)).asnumpy()
    before = [max(n for n in range(number + 1) if n not in bad) for number in range(COUNT)]
    assert np.array_equal(batch, frames[before])
    assert np.array_equal(tolerant[bad[0]].asnumpy(), frames[before[bad[0]]])
    for limit in (len(bad) - 1, (len(bad) - 0.5) / COUNT):
        if limit > 0:
            with pytest.raises(decord.DECORDLimitReachedError, match="fault_tol"):
                VideoReader(path, fault_tol=limit).get_batch(range(COUNT))


@pytest.fixture(scope="module")
def several(path, tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    return [path] + [
        str(encode_video(folder / f"{n}.mp4", frames=40, size=(64, 48), fps=10)) for n in range(2)
    ]


def indices_of(loader):
    return [indices.asnumpy().tolist() for _, indices in loader]


def test_a_loader_gives_batches_of_each_video_in_turn(several, frames):
    loader = VideoLoader(several, ctx=[cpu(0)], shape=(4, 48, 64, 3), interval=1, skip=5, shuffle=0)
    wanted = [
        [[video, start + 2 * place] for place in range(4)]
        for video, length in enumerate([COUNT, 40, 40])
        for start in range(0, length - 6, 12)
        if start + 7 < length - 1  # decord leaves two frames unread
    ]
    assert len(loader) == len(wanted)
    reader = VideoReader(several[2], width=64, height=48)
    for (batch, indices), expected in zip(loader, wanted, strict=True):
        assert batch.shape == (4, 48, 64, 3)
        assert indices.asnumpy().tolist() == expected
        if expected[0][0] == 2:
            numbers = [frame for _, frame in expected]
            assert np.array_equal(batch.asnumpy(), reader.get_batch(numbers).asnumpy())
    with pytest.raises(StopIteration):
        loader.next()
    loader.reset()
    assert loader.next()[1].asnumpy().tolist() == wanted[0]


@pytest.mark.parametrize(
    ("batch", "interval", "skip", "starts"),
    [
        # Of a video of 40 frames by decord2 3.4.0.
        (1, 0, 0, range(38)),
        (1, 3, 1, range(0, 38, 2)),
        (5, 0, 0, range(0, 35, 5)),
        (4, 0, 4, range(0, 40, 8)),
        (7, 1, 0, [0, 13]),
        (2, 3, 4, range(0, 36, 9)),
        (19, 1, 1, [0]),
        (38, 0, 0, [0]),
        (39, 0, 0, []),
    ],
)
def test_a_loader_has_the_batches_of_decord(several, batch, interval, skip, starts):
    loader = VideoLoader(several[1:2], cpu(0), (batch, 0, 0, 3), interval, skip, 0)
    assert len(loader) == len(starts)
    found = list(loader)
    assert [indices.asnumpy()[0, 1] for _, indices in found] == list(starts)
    for frames, indices in found:
        assert frames.shape == (batch, 48, 64, 3), "the size of the video"
        assert (np.diff(indices.asnumpy()[:, 1]) == interval + 1).all()


def test_a_loader_shuffles_files_batches_or_within_files(several):
    def order(shuffle, seed=1):
        loader = VideoLoader(several, cpu(0), (3, 48, 64, 3), 0, 0, shuffle, seed=seed)
        return indices_of(loader)

    plain = order(0)
    by_file, mixed, within = (order(shuffle) for shuffle in (1, 2, 3))
    assert all(sorted(each) == sorted(plain) for each in (by_file, mixed, within))
    assert [b[0][0] for b in within] == [b[0][0] for b in plain]
    assert within != plain
    files = [b[0][0] for b in by_file]
    assert files != sorted(files) or order(1, seed=2) != by_file
    assert sum(a != b for a, b in pairwise(files)) == 2
    assert [b for b in by_file if b[0][0] == 1] == [b for b in plain if b[0][0] == 1]
    assert len({b[0][0] for b in mixed[:8]}) > 1
    assert order(2) == mixed
    assert order(2, seed=5) != mixed


@pytest.mark.parametrize(
    "wrong",
    [
        {"uris": []},
        {"shape": (4, 48, 64)},
        {"shape": (0, 48, 64, 3)},
        {"interval": -1},
        {"shuffle": 4},
    ],
)
def test_wrong_arguments_of_a_loader(several, wrong):
    options = {"uris": several, "ctx": cpu(0), "shape": (4, 48, 64, 3)}
    options |= {"interval": 0, "skip": 0, "shuffle": 0}
    with pytest.raises(vl.errors.ArgumentError):
        VideoLoader(**options | wrong)


def test_logging_levels_are_taken():
    decord.logging.set_level(decord.logging.QUIET)


def test_install_stands_in_for_decord(path, frames, monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == "decord"]:
        monkeypatch.delitem(sys.modules, name)
    before = set(sys.modules)
    decord.install()
    try:
        import decord as installed
        from decord import VideoReader as Reader
        from decord import cpu as context
        from decord.base import DECORDError
        from decord.bridge import set_bridge
        from decord.video_reader import VideoReader as Same

        assert installed is decord
        assert Reader is Same is VideoReader
        assert DECORDError is decord.DECORDError
        set_bridge("numpy")
        assert np.array_equal(Reader(path, context(0))[3], frames[3])
    finally:
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "decord":
                del sys.modules[name]


def test_single_frames_of_one_gop_are_decoded_again_only_a_few_times(path, frames, monkeypatch):
    from videoloader.decoding.cpu import frame_decoder

    fed = []
    original = frame_decoder.make_packet
    monkeypatch.setattr(frame_decoder, "make_packet", lambda p, n: fed.append(n) or original(p, n))
    reader = VideoReader(path, num_threads=1)
    order = list(np.random.default_rng(2).permutation(25).tolist() * 4)
    for number in order:
        given = reader[number].asnumpy()
        assert np.array_equal(given, frames[number])
        given[:] = 0  # the caller's own memory
    assert len(fed) < 5 * 25


def test_a_reader_goes_with_its_last_reference(path):
    import gc
    import weakref

    gc.disable()
    try:
        reader = VideoReader(path)
        reader[0], reader[1], reader[2]
        video = weakref.ref(reader._video)
        del reader
        assert video() is None
    finally:
        gc.enable()


def test_what_is_kept_is_bounded(path, frames, monkeypatch):
    from videoloader.compat import single_frames

    size = frames[0].size
    monkeypatch.setattr(single_frames, "LIMIT", 30 * size)
    reader = VideoReader(path, num_threads=1)
    kept = reader._kept
    for number in np.random.default_rng(3).integers(0, COUNT, 150).tolist():
        assert np.array_equal(reader[number].asnumpy(), frames[number])
        assert sum(block.numel() for block in kept._kept.values()) <= 30 * size
    assert kept._kept
    monkeypatch.setattr(single_frames, "LIMIT", 5 * size)
    reader = VideoReader(path, num_threads=1)
    for number in (20, 3, 19, 8, 11, 24, 13):
        assert np.array_equal(reader[number].asnumpy(), frames[number])
    assert not reader._kept._kept
