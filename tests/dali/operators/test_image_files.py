"""The operators that decode images: windows, element types, pipelines, errors."""

import numpy as np
import pytest
import torch
from image_files import FILES, encoded, picture

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, FormatError, OperatorError, UnsupportedError


def file(pixels, extension="png"):
    return torch.frombuffer(bytearray(encoded(pixels, extension)), dtype=torch.uint8)


def run(define, batches, batch_size):
    """The batches that a pipeline makes of lists of encoded images."""

    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None)
    def pipeline():
        return define(fn.external_source(source=iter(batches), batch=True))

    with_outputs = pipeline()
    with_outputs.build()
    try:
        return [with_outputs.run() for _ in batches]
    finally:
        with_outputs.close()


def test_images_are_decoded_to_their_pixels():
    pixels = picture(13, 19)
    out = fn.decoders.image(file(pixels))
    assert out.dtype == torch.uint8
    assert np.array_equal(out.numpy(), pixels)


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [
        (types.FLOAT, 1 / 255),
        (types.UINT16, 257),
        (types.INT16, 32767 / 255),
        (types.FLOAT16, 1 / 255),
    ],
)
def test_values_are_brought_to_the_range_of_the_element_type(dtype, factor):
    pixels = picture(13, 19)
    out = fn.decoders.image(file(pixels), dtype=dtype)
    assert out.dtype == dtype.torch
    tolerance = {types.FLOAT16: 1e-3, types.FLOAT: 1e-6}.get(dtype, 0.51)
    assert np.abs(out.numpy() - pixels.astype(float) * factor).max() <= tolerance


def test_sixteen_bits_are_brought_to_eight():
    wide = np.arange(0, 65536, 17, dtype=np.uint16)[:3840].reshape(48, 80, 1)
    out = fn.decoders.image(file(wide), output_type=types.GRAY)
    expected = np.floor(wide / 257 + 0.5)
    assert np.array_equal(out.numpy(), expected)
    kept = fn.decoders.image(file(wide), output_type=types.ANY_DATA, dtype=types.UINT16)
    assert np.array_equal(kept.numpy(), wide)


def test_a_batch_of_images_of_several_sizes_is_ragged():
    pictures = [picture(13, 19), picture(5, 7), picture(13, 19)]
    out = fn.decoders.image(TensorList([file(each) for each in pictures]))
    assert out.layout() == "HWC"
    assert out.shape() == [each.shape for each in pictures]
    for mine, expected in zip(out, pictures, strict=True):
        assert np.array_equal(mine.numpy(), expected)


def test_pipelines_decode_each_batch_whatever_its_sizes():
    batches = [[picture(13, 19), picture(5 + n, 7)] for n in range(4)]
    encodings = [[file(each).numpy() for each in batch] for batch in batches]
    made = run(lambda data: (fn.decoders.image(data), fn.peek_image_shape(data)), encodings, 2)
    for (images, shapes), expected in zip(made, batches, strict=True):
        for mine, shape, theirs in zip(images, shapes, expected, strict=True):
            assert np.array_equal(mine.numpy(), theirs)
            assert shape.tolist() == list(theirs.shape)


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("image_type", [types.RGB, types.GRAY, types.ANY_DATA])
@pytest.mark.parametrize("turned", [True, False])
def test_the_peeked_shape_is_that_of_the_decoded_image(name, image_type, turned):
    data = torch.frombuffer(bytearray(FILES[name]), dtype=torch.uint8)
    shape = fn.peek_image_shape(data, image_type=image_type, adjust_orientation=turned)
    image = fn.decoders.image(data, output_type=image_type, adjust_orientation=turned)
    assert shape.dtype == torch.int64
    assert shape.tolist() == list(image.shape)


def test_a_crop_is_that_of_the_decoded_image():
    pixels, where = picture(30, 40), {"crop": (10, 12), "crop_pos_x": 0.3, "crop_pos_y": 0.8}
    out = fn.decoders.image_crop(file(pixels), **where)
    assert torch.equal(out, fn.crop(torch.from_numpy(pixels), **where))


@pytest.mark.parametrize(
    ("arguments", "rows", "columns"),
    [
        ({"start": [3, 4], "end": [20, 30]}, slice(4, 30), slice(3, 20)),
        ({"rel_start": [0.1, 0.2], "shape": [5, 6]}, slice(6, 12), slice(4, 9)),
        ({"rel_end": [0.5], "axis_names": "H"}, slice(0, 15), slice(0, 40)),
        ({"start": [5], "axes": [0]}, slice(5, 30), slice(0, 40)),
        ({"rel_start": [0.26, 0.0], "rel_shape": [0.33, 1]}, slice(0, 30), slice(10, 24)),
        ({"start": [1, 2], "shape": [5, 6], "axes": [-3, -2]}, slice(1, 6), slice(2, 8)),
    ],
)
def test_a_slice_is_that_of_the_decoded_image(arguments, rows, columns):
    pixels = picture(30, 40)
    out = fn.decoders.image_slice(file(pixels), **arguments)
    assert np.array_equal(out.numpy(), pixels[rows, columns])


@pytest.mark.parametrize(
    ("anchor", "extent", "options", "rows", "columns"),
    [
        ([0.1, 0.2], [0.5, 0.5], {}, slice(6, 21), slice(4, 24)),
        ([4, 6], [20, 15], {}, slice(6, 21), slice(4, 24)),
        ([4.0, 6.0], [0.5, 0.5], {"normalized_anchor": False}, slice(6, 21), slice(4, 24)),
        ([6, 4], [15, 20], {"axes": (0, 1)}, slice(6, 21), slice(4, 24)),
    ],
)
def test_a_slice_is_given_by_inputs_too(anchor, extent, options, rows, columns):
    pixels = picture(30, 40)
    inputs = (torch.tensor(anchor), torch.tensor(extent))
    out = fn.decoders.image_slice(file(pixels), *inputs, **options)
    assert np.array_equal(out.numpy(), pixels[rows, columns])


def test_random_crops_are_windows_of_the_bounds_that_were_asked_for():
    pixels = picture(60, 80)
    out = fn.decoders.image_random_crop(
        TensorList([file(pixels)] * 50),
        random_area=[0.2, 0.4],
        random_aspect_ratio=[0.5, 2.0],
        seed=7,
    )
    places = set()
    for window in out:
        height, width, _ = window.shape
        assert 0.19 <= height * width / 4800 <= 0.42
        assert 0.48 <= width / height <= 2.1
        found = np.lib.stride_tricks.sliding_window_view(pixels[..., :2], (height, width), (0, 1))
        match = (found[..., 0, 0] == window[0, 0, :2].numpy()).all(-1)
        places |= {tuple(place) for place in np.argwhere(match).tolist()}
    assert len(places) > 25
    again = fn.decoders.image_random_crop(TensorList([file(pixels)] * 2), seed=7)
    assert torch.equal(
        fn.decoders.image_random_crop(TensorList([file(pixels)] * 2), seed=7)[1], again[1]
    )


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda data: fn.decoders.image_crop(data, crop_w=1000, crop_h=10), ArgumentError),
        (lambda data: fn.decoders.image_slice(data, end=[1000], axes=[1]), ArgumentError),
        (
            lambda data: fn.decoders.image_slice(data, start=[1], rel_start=[1], axes=[1]),
            ArgumentError,
        ),
        (lambda data: fn.decoders.image_slice(data, start=[1, 2, 3]), ArgumentError),
        (
            lambda data: fn.decoders.image_random_crop(data, random_area=[0.5, 0.1], seed=1),
            ArgumentError,
        ),
        (lambda data: fn.decoders.image(data, max_pixels=100), UnsupportedError),
        (lambda data: fn.decoders.image(data.float()), ArgumentError),
        (lambda data: fn.decoders.image(data[None]), ArgumentError),
        (lambda data: fn.decoders.image(data[40:]), FormatError),
    ],
)
def test_what_cannot_be_decoded_is_an_error(call, error):
    with pytest.raises(error):
        call(file(picture(30, 40)))


def test_the_error_of_a_batch_names_the_image_that_fails():
    good = file(picture(30, 40))
    batch = TensorList([good, good[:300]], source_info=["good.png", "broken.png"])
    with pytest.raises(Exception, match=r"broken\.png: ") as caught:
        fn.decoders.image(batch)
    assert "good.png" not in str(caught.value)


def test_the_error_of_a_pipeline_says_which_sample_failed():
    good = file(picture(30, 40)).numpy()
    with pytest.raises(OperatorError, match="sample 1 of batch 0"):
        run(lambda data: fn.decoders.image(data), [[good, good[:300], good]], 3)


@pytest.mark.filterwarnings("ignore:.* is deprecated; use fn:DeprecationWarning")
def test_the_names_of_older_releases_are_the_same_operators():
    data = file(picture(30, 40))
    for old, new in (
        (fn.image_decoder, fn.decoders.image),
        (fn.experimental.decoders.image, fn.decoders.image),
    ):
        assert torch.equal(old(data), new(data))
    assert torch.equal(fn.experimental.peek_image_shape(data), fn.peek_image_shape(data))
    assert {"image_crop", "image_slice", "image_random_crop"} <= set(
        fn.experimental.decoders.__all__
    )
    assert {"image_decoder_crop", "image_decoder_slice"} <= set(fn.__all__)


def test_hints_have_no_effect():
    data = file(picture(30, 40))
    hints = {"hw_decoder_load": 0.7, "use_fast_idct": True}
    assert torch.equal(fn.decoders.image(data, **hints), fn.decoders.image(data))


def test_a_gpu_is_asked_for_where_there_is_none():
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(UnsupportedError, match="GPU"):
        fn.decoders.image(file(picture(30, 40)), device="mixed")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_an_image_may_be_given_as_the_bytes_of_its_file(kind):
    pixels = picture(20, 30)
    data = encoded(pixels, "png")
    assert np.array_equal(fn.decoders.image(kind(data)), pixels)
    assert [tuple(shape.tolist()) for shape in fn.peek_image_shape([data, data])] == [
        (20, 30, 3)
    ] * 2
    both = fn.decoders.image([kind(data), np.frombuffer(data, np.uint8)])
    assert both.as_array().tolist() == [pixels.tolist()] * 2
