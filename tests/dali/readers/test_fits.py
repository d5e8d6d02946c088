import json
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from fits_files import BITS, EMPTY, SCALED, card, flag, header, image, scaled
from hypothesis import given
from hypothesis import strategies as st
from stored_batches import read_epoch

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.readers.files.fits import read_image
from videoloader.errors import (
    ArgumentError,
    FormatError,
    OperatorError,
    SourceError,
    UnsupportedError,
    VideoError,
)
from videoloader.sources.opening import open_source

SMALL = np.arange(6, dtype=np.int16).reshape(2, 3)
STORED = Path(__file__).parents[1] / "references" / "fits.json"


def read(**arguments):
    return read_epoch(fn.experimental.readers.fits, **arguments)


def read_one(data, number=2):
    with open_source(data) as source:
        return read_image(source, number)


def folder_of(tmp_path, **files):
    for name, value in files.items():
        place = tmp_path / name.replace("__", "/")
        place.parent.mkdir(exist_ok=True)
        place.with_suffix(".fits").write_bytes(EMPTY + image(np.full((1, 2), value, np.uint8)))
    return str(tmp_path)


@given(st.data())
def test_an_image_is_read_as_it_was_written(data):
    name = data.draw(st.sampled_from(sorted(BITS)))
    shape = data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=4))
    array = np.random.default_rng(0).integers(0, 127, shape).astype(name)
    found = read_one(EMPTY + image(array))
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.flags.c_contiguous) == (array.dtype, True)


@pytest.mark.parametrize(
    ("case", "stored"), list(zip(SCALED, json.loads(STORED.read_text()), strict=True))
)
def test_scaled_elements_have_the_types_and_values_of_dali(case, stored):
    found, (dtype, values) = read_one(scaled(*case)), stored
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(values, dtype))


def test_scaled_integers_of_64_bits_keep_all_their_bits():
    values = np.array([-(2**63), -1, 0, 2**63 - 1])
    made = image(values, card("BZERO", 9223372036854775808.0))
    expected = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    assert read_one(EMPTY + made).tolist() == expected.tolist()
    halves = read_one(EMPTY + image(np.array([1, -3]), card("BSCALE", 0.5)))
    assert (halves.dtype, halves.tolist()) == (np.float64, [0.5, -1.5])
    with pytest.raises(FormatError, match=r"HDU 2: values from .* do not fit int64"):
        read_one(EMPTY + image(values, card("BSCALE", 2)))


def test_values_on_cards_may_be_written_in_fortran_s_way():
    made = image(SMALL, "BSCALE  = 2.5D0", "BZERO   = 1.e1/ten", "OBJECT  = 'it''s / 1'")
    np.testing.assert_array_equal(read_one(EMPTY + made), 10 + 2.5 * SMALL)


def test_hdus_are_outputs_in_the_order_of_their_indices(tmp_path):
    other = np.linspace(0, 1, 5, dtype=np.float32)
    (tmp_path / "a.fits").write_bytes(image(SMALL, primary=True) + image(other) + b"what else")
    ((second, first),) = read(file_root=str(tmp_path), hdu_indices=[2, 1])
    np.testing.assert_array_equal(second, other)
    np.testing.assert_array_equal(first, SMALL)
    ((alone,),) = read(file_root=str(tmp_path), hdu_indices=1)
    np.testing.assert_array_equal(alone, SMALL)


def test_files_come_from_the_folder_then_from_those_in_it(tmp_path):
    root = folder_of(tmp_path, top=1, b__a=2, a__b=3)
    (tmp_path / "a" / "c.FITS").write_bytes(b"")
    assert [array.max() for (array,) in read(file_root=root)] == [1, 3, 2]
    assert [array.max() for (array,) in read(file_root=root, file_filter="[ab].fits")] == [3, 2]


def test_files_may_be_listed(tmp_path):
    root = folder_of(tmp_path, a=1, b=2, c=3)
    (tmp_path / "list.txt").write_text("c.fits\na.fits\n")
    by_list = read(file_list=str(tmp_path / "list.txt"))
    assert [array.max() for (array,) in by_list] == [3, 1]
    by_name = read(files=["b.fits", "c.fits"], file_root=root)
    assert [array.max() for (array,) in by_name] == [2, 3]


def test_shards_divide_the_files_and_a_seed_gives_their_order(tmp_path):
    root = folder_of(tmp_path, **{f"f{number}": number for number in range(6)})
    halves = [
        {
            int(array.max())
            for (array,) in read(file_root=root, num_shards=2, shard_id=shard, batches=3)
        }
        for shard in (0, 1)
    ]
    assert halves == [{0, 1, 2}, {3, 4, 5}]
    shuffled = [
        [int(array.max()) for (array,) in read(file_root=root, random_shuffle=True, seed=3)]
        for _ in range(2)
    ]
    assert shuffled[0] == shuffled[1] != sorted(shuffled[0]) == list(range(6))


def test_a_batch_has_one_element_type(tmp_path):
    for number, name in enumerate(("int16", "float32")):
        (tmp_path / f"{number}.fits").write_bytes(EMPTY + image(SMALL.astype(name)))

    @pipeline_def(batch_size=2, num_threads=1)
    def graph():
        return fn.experimental.readers.fits(file_root=str(tmp_path))

    with graph() as pipe, pytest.raises(OperatorError, match=r"sample 1 has torch\.float32"):
        pipe.run()


TABLE = header(
    card("XTENSION", "BINTABLE"), card("BITPIX", 8), card("NAXIS", 2), card("NAXIS1", 4),
    card("NAXIS2", 1), card("PCOUNT", 0), card("GCOUNT", 1),
) + bytes(2880)  # fmt: skip


def test_data_of_other_hdus_is_passed_over():
    groups = header(
        flag("SIMPLE"), card("BITPIX", 16), card("NAXIS", 2), card("NAXIS1", 0),
        card("NAXIS2", 3), flag("GROUPS"), card("PCOUNT", 1), card("GCOUNT", 400),
    ) + bytes(2 * 2880)  # fmt: skip
    np.testing.assert_array_equal(read_one(groups + TABLE + image(SMALL), 3), SMALL)


BAD = {
    "HDU 2 is wanted, the file has 1": (SourceError, EMPTY),
    "HDU 2: no data": (FormatError, EMPTY + image(np.array(1, np.uint8))),
    "HDU 2: a BINTABLE, not an image": (FormatError, EMPTY + TABLE),
    "no HDU at byte 0, which is to be HDU 1": (FormatError, b"hello" * 1000),
    "no HDU at byte 2880, which is to be HDU 2": (FormatError, EMPTY + b"x"),
    "the header of HDU 2 has no end": (FormatError, (EMPTY + image(SMALL))[:3000]),
    "shape .2, 3. and type int16 does not fit": (FormatError, (EMPTY + image(SMALL))[:5765]),
    "HDU 2: BITPIX is 17": (
        FormatError,
        EMPTY + image(SMALL).replace(f"{16:20}".encode(), f"{17:20}".encode()),
    ),
    "HDU 2: BITPIX is missing": (FormatError, EMPTY + image(SMALL).replace(b"BITPIX", b"PIXBIT")),
    "HDU 2: an array of shape": (FormatError, EMPTY + image(SMALL).replace(b" 3 /", b"-3 /")),
    "does not fit the 8640 bytes": (
        FormatError,
        EMPTY + image(SMALL).replace(f"{3:20}".encode(), f"{10**18:20}".encode()),
    ),
    "HDU 2: NAXIS is 1000": (
        FormatError,
        EMPTY + header(card("XTENSION", "IMAGE"), card("BITPIX", 8), card("NAXIS", 1000)),
    ),
    "HDU 2: BSCALE is 'two'": (FormatError, EMPTY + image(SMALL, card("BSCALE", "two"))),
}


@pytest.mark.parametrize("problem", BAD)
def test_a_bad_file_is_named(tmp_path, problem):
    kind, data = BAD[problem]
    (tmp_path / "bad.fits").write_bytes(data)
    with pytest.raises(kind, match=f"bad.fits.*{problem}"):
        read_one(tmp_path / "bad.fits")
    with pytest.raises(OperatorError, match=r"fn.experimental.readers.fits.*bad.fits"):
        read(file_root=str(tmp_path))


@given(st.data())
def test_damage_is_an_error_of_ours_or_gives_an_array(data):
    made = bytearray(EMPTY + image(SMALL, card("BSCALE", 0.5)))
    for _ in range(data.draw(st.integers(1, 4))):
        made[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.sampled_from(b" -0159=/'TE."))
    with suppress(VideoError):
        read_one(bytes(made))


COMPRESSED = EMPTY + header(
    card("XTENSION", "BINTABLE"), card("BITPIX", 8), card("NAXIS", 2), card("NAXIS1", 8),
    card("NAXIS2", 1), card("PCOUNT", 0), card("GCOUNT", 1), flag("ZIMAGE"),
    card("ZBITPIX", 16),
) + bytes(2880)  # fmt: skip


def test_a_compressed_image_says_that_it_needs_astropy(monkeypatch):
    monkeypatch.setitem(sys.modules, "astropy.io", None)
    monkeypatch.setitem(sys.modules, "astropy", None)
    with pytest.raises(UnsupportedError, match=r"HDU 2 is compressed.*videoloader\[fits\]"):
        read_one(COMPRESSED)


@pytest.mark.parametrize("name", ["uint8", "int16", "uint16", "int32"])
def test_compressed_images_are_those_that_were_compressed(tmp_path, name):
    fits = pytest.importorskip("astropy.io.fits")
    array = (np.arange(600).reshape(20, 30) % 251).astype(name)
    written = fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(array, compression_type="RICE_1")])
    written.writeto(tmp_path / "a.fits")
    found = read_one(tmp_path / "a.fits")
    np.testing.assert_array_equal(found, array)
    assert found.dtype == name
    with pytest.raises(FormatError, match="HDU 2: its compressed image is damaged"):
        read_one(COMPRESSED)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"hdu_indices": [0]}, "hdu_indices must be .* at least 1"),
        ({"hdu_indices": []}, "hdu_indices is empty"),
        ({"hdu_indices": [1, 2], "dtypes": np.float32}, "1 dtypes for 2 hdu_indices"),
        ({"file_list": "list.txt"}, "files or file_list, not both"),
    ],
)
def test_arguments_are_checked(given, problem):
    @pipeline_def(batch_size=1)
    def graph():
        return fn.experimental.readers.fits(files=["a.fits"], **given)

    with pytest.raises(ArgumentError, match=problem):
        graph()
