"""Images on a GPU: whose memory they lie in, and what the CPU has to decode."""

import ctypes
import math
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from image_files import encoded, picture

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors.batch import Batch
from videoloader.decoding.images import nvimagecodec
from videoloader.decoding.images.header import read_header

SIZES = [(40, 50), (30, 20), (64, 48), (31, 33)]
EXIF = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"  # orientation 6


class FakeImage:
    """An image of nvImageCodec on the CPU: it says where it lies as one on a GPU does."""

    def __init__(self, address, shape):
        self.size = math.prod(shape)
        self.__cuda_array_interface__ = {"data": (address, False), "shape": shape}

    def take(self, pixels):
        address = self.__cuda_array_interface__["data"][0]
        ctypes.memmove(address, pixels.data_ptr(), pixels.numel())
        self.__cuda_array_interface__["shape"] = tuple(pixels.shape)


class FakeCodec:
    """In the place of nvImageCodec: decodes by OpenCV into the images that it is given.

    It takes them for memory of some size, as nvImageCodec does: the shape is that of the file.
    """

    ColorSpec = SimpleNamespace(GRAY=1, SRGB=3)
    CodeStream = bytes
    DecodeParams = staticmethod(lambda orientation, color, any_depth: (orientation, color))

    def __init__(self):
        self.unreadable, self.elsewhere, self.calls = set(), set(), []

    def as_images(self, rooms, cuda_stream):
        assert cuda_stream == 7
        described = [room.__cuda_array_interface__ for room in rooms]
        assert all(each["typestr"] == "|u1" and each["strides"] is None for each in described)
        return [FakeImage(each["data"][0], each["shape"]) for each in described]

    def decode(self, sources, *, images, params, cuda_stream):
        assert cuda_stream == 7
        self.calls.append(len(sources))
        decoded = [self.pixels(source, *params) for source in sources]
        for pixels, image in zip(decoded, images, strict=True):
            if pixels is not None and pixels.numel() > image.size:
                raise ValueError("Existing buffer is too small to fit new image")
        made = []
        for source, pixels, image in zip(sources, decoded, images, strict=True):
            if pixels is not None and source in self.elsewhere:
                image = FakeImage(pixels.data_ptr(), tuple(pixels.shape))
            elif pixels is not None:
                image.take(pixels)
            made.append(None if pixels is None else image)
        return made

    def pixels(self, source, orientation, color):
        if source in self.unreadable:
            return None
        flags = cv2.IMREAD_GRAYSCALE if color == self.ColorSpec.GRAY else cv2.IMREAD_COLOR_RGB
        flags |= 0 if orientation else cv2.IMREAD_IGNORE_ORIENTATION
        found = cv2.imdecode(np.frombuffer(source, np.uint8), flags)
        return torch.from_numpy(found.reshape(*found.shape[:2], -1))


@pytest.fixture
def codec(monkeypatch):
    fake = FakeCodec()
    monkeypatch.setattr(nvimagecodec, "_codec", lambda: fake)
    monkeypatch.setattr(nvimagecodec, "_decoder", lambda device: fake)
    stream = SimpleNamespace(cuda_stream=7)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    return fake


def jpeg(size, *, channels=3, is_turned=False):
    data = encoded(picture(*size, channels), "jpg")
    if is_turned:
        data = data[:2] + b"\xff\xe1" + (len(EXIF) + 2).to_bytes(2, "big") + EXIF + data[2:]
    return data


def decode(files, headers=None, *, output_type="RGB", adjust_orientation=True):
    return nvimagecodec.decode_on_gpu(
        [memoryview(data) for data in files],
        headers or [read_header(memoryview(data), "it") for data in files],
        device="cpu",
        output_type=output_type,
        adjust_orientation=adjust_orientation,
    )


def expected(codec, data, *, output_type="RGB", adjust_orientation=True):
    color = codec.ColorSpec.GRAY if output_type == "GRAY" else codec.ColorSpec.SRGB
    return codec.pixels(data, adjust_orientation, color)


@pytest.mark.parametrize("output_type", ["RGB", "GRAY"])
@pytest.mark.parametrize("adjust_orientation", [True, False])
def test_images_lie_in_one_block_of_torchs_memory(codec, output_type, adjust_orientation):
    files = [jpeg(size, is_turned=number == 1) for number, size in enumerate(SIZES)]
    form = {"output_type": output_type, "adjust_orientation": adjust_orientation}
    images = decode(files, **form)
    assert len({image.untyped_storage().data_ptr() for image in images}) == 1
    assert not any(image.storage_offset() % 256 for image in images)
    for image, data in zip(images, files, strict=True):
        assert image.is_contiguous()
        assert torch.equal(image, expected(codec, data, **form))
    assert images[1].shape[:2] == ((20, 30) if adjust_orientation else (30, 20))


def test_images_of_one_size_are_one_tensor(codec):
    files = [jpeg((30, 41)), jpeg((30, 41)), jpeg((41, 30), is_turned=True)]
    block = decode(files)
    assert isinstance(block, torch.Tensor)
    assert block.shape == (3, 30, 41, 3)
    for image, data in zip(block, files, strict=True):
        assert torch.equal(image, expected(codec, data))


def test_images_that_are_not_in_their_memory_are_left_to_the_cpu(codec):
    files = [jpeg(size) for size in SIZES]
    codec.unreadable, codec.elsewhere = {files[0]}, {files[2]}
    images = decode(files)
    assert [image is None for image in images] == [True, False, True, False]
    for at in (1, 3):
        assert torch.equal(images[at], expected(codec, files[at]))


@pytest.mark.parametrize("change", [-1, 1])
def test_an_image_of_another_size_than_its_header_costs_no_other(codec, change):
    files = [jpeg(size) for size in SIZES]
    headers = [read_header(memoryview(data), "it") for data in files]
    height, width = SIZES[1]
    headers[1] = type(headers[1])("jpeg", height + 20 * change, width, 3)
    images = decode(files, headers)
    assert [image is None for image in images] == [False, True, False, False]
    for at in (0, 2, 3):
        assert torch.equal(images[at], expected(codec, files[at]))


def test_other_formats_are_left_to_the_cpu(codec):
    files = [jpeg((20, 30)), encoded(picture(20, 30), "png")]
    images = decode(files)
    assert images[1] is None
    assert torch.equal(images[0], expected(codec, files[0]))
    assert codec.calls == [1]


@pytest.mark.parametrize("output_type", ["BGR", "YCbCr"])
def test_other_colour_spaces_are_made_of_rgb(codec, output_type):
    files = [jpeg((20, 30)), jpeg((20, 30))]
    for image, data in zip(decode(files, output_type=output_type), files, strict=True):
        rgb = expected(codec, data)
        if output_type == "BGR":
            assert torch.equal(image, rgb[..., [2, 1, 0]])
        else:
            luma = rgb.double() @ torch.tensor([65.481, 128.553, 24.966]).double() / 255 + 16
            assert (image[..., 0].double() - luma).abs().max() <= 0.51


def apply(name, files, **arguments):
    """What an operator makes on a GPU, which is this machine by another name."""
    declared = OPERATORS[name]
    bound = declared.bind(arguments)
    encoded_files = Batch([torch.frombuffer(bytearray(each), dtype=torch.uint8) for each in files])
    (made,) = apply_operator(declared, Context(len(files), "cpu:0"), [encoded_files], bound)
    return made


def test_a_batch_holds_what_each_decoder_made(codec):
    files = [jpeg((30, 41)), encoded(picture(20, 30), "png"), jpeg((30, 41)), jpeg((64, 48))]
    codec.unreadable = {files[3]}
    made = apply("decoders.image", files)
    assert made.block is None
    assert torch.equal(made[0], expected(codec, files[0]))
    assert np.array_equal(made[1], picture(20, 30))
    assert torch.equal(made[2], expected(codec, files[2]))
    assert torch.equal(made[3], fn.decoders.image(memoryview(files[3])))


@pytest.mark.parametrize("dtype", [types.UINT8, types.FLOAT])
def test_a_batch_of_one_size_is_one_block(codec, dtype):
    files = [jpeg((30, 41)), jpeg((30, 41))]
    made = apply("decoders.image", files, dtype=dtype)
    assert made.block.shape == (2, 30, 41, 3)
    scale = 255 if dtype is types.FLOAT else 1
    for image, data in zip(made, files, strict=True):
        assert torch.equal(image, (expected(codec, data) / scale).to(dtype.torch))


@pytest.mark.parametrize("sizes", [SIZES, [SIZES[0]] * 3], ids=["ragged", "of one size"])
def test_windows_are_those_of_the_images(codec, sizes):
    files = [jpeg(size) for size in sizes]
    made = apply("decoders.image_crop", files, crop=(12, 15), crop_pos_x=0.0, crop_pos_y=0.0)
    for image, data in zip(made, files, strict=True):
        assert torch.equal(image, expected(codec, data)[:12, :15])


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [SIZES, SIZES[:1]], ids=["ragged", "of one size"])
def test_images_stay_while_a_slow_stage_reads_them_and_later_ones_are_decoded(sizes):
    pictures = [picture(8 * height, 8 * width) for height, width in sizes] * 4
    kinds = [
        [np.frombuffer(encoded(each, "jpg"), np.uint8) for each in batch]
        for batch in (pictures, [255 - each for each in pictures])
    ]
    batches = [kinds[number % 2] for number in range(24)]

    def read_late(image):
        torch.cuda._sleep(5_000_000)  # some 3 ms, behind which the images of later batches are read
        return image.clone()

    @pipeline_def(batch_size=len(kinds[0]), num_threads=2, device_id=0, prefetch_queue_depth=4)
    def define():
        data = fn.external_source(source=iter(batches), batch=True)
        images = fn.decoders.image(data, device="mixed")
        return fn.torch_python_function(images, function=read_late)

    wanted = [[each.cpu() for each in fn.decoders.image(kind, device="mixed")] for kind in kinds]
    with define() as pipe:
        for number in range(len(batches)):
            for image, right in zip(pipe.run()[0], wanted[number % 2], strict=True):
                assert torch.equal(image.cpu(), right)
