"""torchcodec's `decode_image` against what OpenCV encodes and decodes."""

import cv2
import numpy as np
import pytest
import torch

from videoloader.compat.torchcodec import installed
from videoloader.compat.torchcodec.decoders import ImageReadMode, decode_image


@pytest.fixture
def rgba():
    return np.random.default_rng(0).integers(0, 256, (7, 9, 4), dtype=np.uint8)


def png(pixels):
    order = {3: [2, 1, 0], 4: [2, 1, 0, 3]}.get(pixels.shape[-1], [0])
    return cv2.imencode(".png", np.ascontiguousarray(pixels[..., order]))[1].tobytes()


def gray(pixels):
    return np.round(pixels[..., :3] @ [0.299, 0.587, 0.114])


def test_channels_are_those_of_the_mode(rgba):
    data = png(rgba)
    expected = {
        "RGB": rgba[..., :3],
        "rgb_alpha": rgba,
        "UNCHANGED": rgba,
        ImageReadMode.GRAY: gray(rgba)[..., None],
        "GRAY_ALPHA": np.stack([gray(rgba), rgba[..., 3]], axis=-1),
    }
    for mode, pixels in expected.items():
        got = decode_image(data, mode=mode)
        assert got.dtype == torch.uint8
        assert np.abs(got.numpy().astype(int) - pixels.transpose(2, 0, 1)).max() <= 1
    assert torch.equal(decode_image(data), decode_image(data, mode="RGB"))


def test_images_without_alpha_are_opaque(rgba):
    got = decode_image(png(rgba[..., :3]), mode="RGB_ALPHA").numpy()
    assert np.array_equal(got[:3], rgba[..., :3].transpose(2, 0, 1))
    assert (got[3] == 255).all()
    got = decode_image(png(rgba[..., :1]), mode="GRAY_ALPHA").numpy()
    assert np.array_equal(got[0], rgba[..., 0])
    assert (got[1] == 255).all()


def test_sources_are_paths_bytes_and_tensors(tmp_path, rgba):
    data = png(rgba)
    (tmp_path / "a.png").write_bytes(data)
    wanted = decode_image(data)
    tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    for source in (tmp_path / "a.png", str(tmp_path / "a.png"), tensor):
        assert torch.equal(decode_image(source), wanted)


def test_deep_images_keep_their_depth_when_asked_to():
    deep = np.arange(0, 60000, 1000, dtype=np.uint16).reshape(6, 10)
    data = cv2.imencode(".png", deep)[1].tobytes()
    for dtype in (torch.uint16, "auto"):
        assert np.array_equal(decode_image(data, mode="GRAY", output_dtype=dtype)[0].numpy(), deep)
    assert np.array_equal(decode_image(data, mode="GRAY")[0].numpy(), np.round(deep / 257))


def test_what_makes_no_sense_is_an_error_that_callers_catch(tmp_path, rgba):
    for arguments, error in (
        ({"mode": "CMYK"}, ValueError),
        ({"mode": 3}, TypeError),
        ({"output_dtype": torch.float32}, ValueError),
    ):
        with pytest.raises(error):
            decode_image(png(rgba), **arguments)
    with pytest.raises(TypeError):
        decode_image(5)
    with pytest.raises(RuntimeError, match="image"):
        decode_image(b"no image at all")
    with pytest.raises(OSError, match=r"none\.png"):
        decode_image(tmp_path / "none.png")


def write_gif(path, count):
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("gif", rate=10)
        stream.width, stream.height, stream.pix_fmt = 16, 16, "rgb8"
        for number in range(count):
            pixels = np.full((16, 16, 3), number * 80, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels).reformat(format="rgb8")))
        container.mux(stream.encode())
    return path


def test_animations_are_decoded_by_torchcodec_or_refused(tmp_path, monkeypatch):
    still, moving = (write_gif(tmp_path / f"{count}.gif", count) for count in (1, 3))
    assert decode_image(still).shape == (3, 16, 16)
    monkeypatch.setattr(installed, "_found", ["is not installed"])
    with pytest.raises(RuntimeError, match=r"3\.gif: an animation.*not installed"):
        decode_image(moving)
    monkeypatch.setattr(installed, "find_name", lambda *_: lambda source, **_: ("theirs", source))
    assert decode_image(moving) == ("theirs", moving)
