import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_batches import read_epoch

from videoloader.dali import fn
from videoloader.dali.readers.files.arrays import Region, read_header, read_region
from videoloader.errors import ArgumentError, FormatError, OperatorError, UnsupportedError
from videoloader.sources.opening import open_source


def read(**arguments):
    return [sample for (sample,) in read_epoch(fn.readers.numpy, **arguments)]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "s" / "deep").mkdir(parents=True)
    np.save(tmp_path / "b.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    np.save(tmp_path / "a.npy", np.asfortranarray(100 + np.arange(12.0).reshape(3, 4)))
    np.save(tmp_path / "s" / "c.NPY.npy", np.arange(3, dtype=np.int16))
    np.save(tmp_path / "s" / "deep" / "d.npy", np.zeros(1))
    (tmp_path / "s" / "x.txt").write_text("1")
    return tmp_path


def test_files_come_from_the_folder_and_those_in_it(root):
    first, second, third = read(file_root=str(root))
    np.testing.assert_array_equal(first, 100 + np.arange(12.0).reshape(3, 4))
    assert (first.dtype, first.flags.c_contiguous) == (np.float64, True)
    np.testing.assert_array_equal(second, np.arange(12).reshape(3, 4))
    assert third.tolist() == [0, 1, 2]
    assert len(read(file_root=str(root), file_filter="a*")) == 1
    assert len(read(file_root=str(root), file_filter="*.npy")) == 3


def test_files_may_be_listed(root):
    (root / "list.txt").write_text("b.npy\n\ns/c.NPY.npy\n")
    by_list = read(file_list=str(root / "list.txt"))
    by_name = read(file_root=str(root), files=["b.npy", "s/c.NPY.npy"])
    for one, other in zip(by_list, by_name, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [array.shape for array in by_name] == [(3, 4), (3,)]


@pytest.mark.parametrize(
    "dtype", "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 >i4 >f8 >u2".split()  # noqa: SIM905
)  # fmt: skip
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3, 4)])
def test_every_type_order_and_shape_is_read(tmp_path, dtype, order, shape):
    array = np.array(np.random.default_rng(1).integers(0, 2, shape), dtype=dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    with open_source(tmp_path / "a.npy") as source:
        found = read_region(source, Region())
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype.newbyteorder("=")


@given(st.data())
def test_a_region_is_that_of_numpy_whatever_lies_outside(tmp_path_factory, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    bounds = [
        sorted(data.draw(st.tuples(st.integers(-2, size + 2), st.integers(-2, size + 2))))
        for size in shape
    ]
    order = data.draw(st.sampled_from("CF"))
    array = np.arange(np.prod(shape), dtype=np.int32).reshape(shape).copy(order)
    path = tmp_path_factory.mktemp("region") / "a.npy"
    np.save(path, array)
    padded = np.pad(array, 2, constant_values=9)
    expected = padded[tuple(slice(a + 2, b + 2) for a, b in bounds)]
    trimmed = array[tuple(slice(max(a, 0), max(b, 0)) for a, b in bounds)]
    starts, ends = zip(*bounds, strict=True)
    with open_source(path) as source:
        found = read_region(source, Region(starts, ends, policy="pad", fill_value=9))
        np.testing.assert_array_equal(found, expected)
        found = read_region(source, Region(starts, ends, policy="trim_to_shape"))
        np.testing.assert_array_equal(found, trimmed)
        if expected.shape != trimmed.shape:
            with pytest.raises(ArgumentError, match="outside"):
                read_region(source, Region(starts, ends))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"roi_start": [1, 1], "roi_end": [3, 3]}, np.s_[1:3, 1:3]),
        ({"roi_start": [1, 1], "roi_shape": [2, 2]}, np.s_[1:3, 1:3]),
        ({"roi_shape": [2, 2]}, np.s_[:2, :2]),
        ({"roi_start": [2, 2]}, np.s_[2:, 2:]),
        ({"roi_start": 1, "roi_end": 3}, np.s_[1:3, 1:3]),
        ({"roi_start": [1], "roi_end": [3], "roi_axes": [-1]}, np.s_[:, 1:3]),
        ({"roi_start": [1, 0], "roi_end": [3, 2], "roi_axes": [1, 0]}, np.s_[:2, 1:3]),
        ({"rel_roi_start": [0.3, 0.3], "rel_roi_end": [0.9, 0.9]}, np.s_[1:3, 1:4]),
        ({"rel_roi_start": [0.3, 0.3], "rel_roi_shape": [0.5, 0.5]}, np.s_[1:2, 1:3]),
        ({"roi_start": [1, 1], "rel_roi_shape": [0.5, 0.5]}, np.s_[1:3, 1:3]),
        ({"roi_start": [], "roi_axes": []}, np.s_[:]),
        ({"roi_start": 0, "roi_end": [2, 2]}, np.s_[:2, :2]),
    ],
)
def test_regions_are_those_of_dali(root, arguments, expected):
    (found,) = read(files=[str(root / "b.npy")], **arguments)
    np.testing.assert_array_equal(found, np.arange(12.0).reshape(3, 4)[expected])


@pytest.mark.parametrize(
    "arguments",
    [
        {"roi_start": [1], "rel_roi_start": [0.1]},
        {"roi_end": [1], "roi_shape": [1]},
        {"out_of_bounds_policy": "x"},
        {"file_list": "x"},
    ],
)
def test_arguments_that_contradict_are_named(root, arguments):
    with pytest.raises(ArgumentError):
        read(files=[str(root / "b.npy")], **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"roi_start": [2, 2], "roi_end": [1, 1]},
        {"roi_start": [1, 1, 1]},
        {"roi_start": [1], "roi_axes": [3]},
        {"roi_start": [1, 1], "roi_axes": [0, 0]},
    ],
)
def test_a_region_that_does_not_fit_names_the_file(root, arguments):
    with pytest.raises(OperatorError, match=r"b\.npy"):
        read(files=[str(root / "b.npy")], **arguments)


def test_only_the_wanted_rows_are_read(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10_000).reshape(1000, 10))
    with open_source(tmp_path / "a.npy") as source:
        read_sizes, array = [], source.array
        source.array = lambda offset, size: read_sizes.append(size) or array(offset, size)
        found = read_region(source, Region(start=(3, 2), end=(5, 4)))
    assert found.tolist() == [[32, 33], [42, 43]]
    assert read_sizes == [2 * 10 * 8]


def damaged(tmp_path, change):
    np.save(tmp_path / "a.npy", np.arange(4.0))
    data = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "bad.npy").write_bytes(change(data))
    with open_source(tmp_path / "bad.npy") as source:
        return read_region(source, Region(), read_header(source))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"garbage",
        lambda data: data[:-1],
        lambda data: data[:9],
        lambda data: data[:8] + b"\xff\xff" + data[10:],
        lambda data: data.replace(b"(4,)", b"(-4,"),
        lambda data: data.replace(b"(4,)", b"(9,)"),
        lambda data: data.replace(b"'descr'", b"'d(scr'"),
        lambda data: data.replace(b"fortran_order", b"fortran_orden"),
    ],
)
def test_a_damaged_file_is_an_error_of_ours(tmp_path, change):
    with pytest.raises(FormatError, match=r"bad\.npy"):
        damaged(tmp_path, change)


@pytest.mark.parametrize("array", [np.array([1, "a"], object), np.zeros(2, "c8"), np.array(["x"])])
def test_elements_that_are_no_numbers_are_refused_by_name(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with (
        open_source(tmp_path / "a.npy") as source,
        pytest.raises(UnsupportedError, match=r"a\.npy"),
    ):
        read_region(source, Region())
