"""Random operators: distributions, shapes, keys of draws, and what they refuse."""

import sys

import numpy as np
import pytest
import torch
from programs import run_program
from torch.utils.data import DataLoader, Dataset

import videoloader
from videoloader.dali import fn, pipeline_def, types
from videoloader.errors import VideoError

pytestmark = pytest.mark.usefixtures("eager")

COUNT = 20000


def run(definition, batch_size=3, seed=5):
    with pipeline_def(definition)(batch_size=batch_size, num_threads=1, seed=seed) as pipe:
        return [(out.layout(), [np.asarray(each) for each in out]) for out in pipe.run()]


def source(samples, layout=None):
    return fn.external_source(lambda: [np.asarray(each) for each in samples], layout=layout)


DRAWS = {
    "uniform": lambda *inputs, **given: fn.random.uniform(*inputs, **given),
    "normal": lambda *inputs, **given: fn.random.normal(*inputs, **given),
    "coin_flip": lambda *inputs, **given: fn.random.coin_flip(*inputs, **given),
    "beta": lambda *inputs, **given: fn.random.beta(*inputs, **given),
    "choice": lambda *inputs, **given: fn.random.choice(
        source([np.int32(5)] * 3), *inputs, **given
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_shape_is_given_by_itself_by_data_or_by_an_input(name):
    def definition():
        like = source([np.zeros(each, np.uint8) for each in [(2, 4), (1, 3), (0, 2)]], "AB")
        sides = source([np.int32([2, 3]), np.int32([1, 0]), np.int32([4, 1])])
        draw = DRAWS[name]
        return draw(), draw(shape=2), draw(shape=(3, 1)), draw(shape=sides), draw(like)

    scalars, ones, twos, by_data, by_input = run(definition)
    assert [each.shape for each in scalars[1]] == [()] * 3
    assert [each.shape for each in ones[1]] == [(2,)] * 3
    assert [each.shape for each in twos[1]] == [(3, 1)] * 3
    assert [each.shape for each in by_data[1]] == [(2, 3), (1, 0), (4, 1)]
    assert [each.shape for each in by_input[1]] == [(2, 4), (1, 3), (0, 2)]
    with pytest.raises(VideoError, match="not both"):
        run(lambda: DRAWS[name](source([np.zeros(2)] * 3), shape=2))
    with pytest.raises(VideoError, match="negative"):
        run(lambda: DRAWS[name](shape=(-2,)))


@pytest.mark.parametrize("name", DRAWS)
def test_draws_differ_by_operator_and_sample_and_repeat_by_seed(name):
    def definition():
        return DRAWS[name](shape=50), DRAWS[name](shape=50)

    first, second = run(definition)
    assert len({each.tobytes() for each in (*first[1], *second[1])}) == 6
    again = run(definition)
    assert [each.tobytes() for each in first[1]] == [each.tobytes() for each in again[0][1]]
    other = run(definition, seed=6)
    assert first[1][0].tobytes() != other[0][1][0].tobytes()


@pytest.mark.parametrize("name", DRAWS)
def test_operators_with_one_seed_draw_the_same(name):
    def definition():
        return DRAWS[name](shape=50, seed=9), DRAWS[name](shape=50), DRAWS[name](shape=50, seed=9)

    first, other, second = run(definition)
    np.testing.assert_array_equal(first[1], second[1])
    assert first[1][0].tobytes() != other[1][0].tobytes()


def within(values, low, high, mean, deviation):
    """Whether numbers are in a range, their mean within six standard deviations of it."""
    values = np.asarray(values, np.float64)
    assert low <= values.min()
    assert values.max() <= high
    assert abs(values.mean() - mean) < 6 * deviation / np.sqrt(values.size)
    assert abs(values.std() - deviation) < 0.05 * deviation


def test_distributions_have_their_moments():
    within(fn.random.normal(mean=3, stddev=2, shape=COUNT, seed=1), -9, 15, 3, 2)
    within(fn.random.uniform(shape=COUNT, seed=1), -1, 1, 0, 1 / np.sqrt(3))
    # Of a beta distribution: a / (a + b), and ab / ((a + b)^2 (a + b + 1)).
    within(fn.random.beta(alpha=2, beta=6, shape=COUNT, seed=1), 0, 1, 0.25, np.sqrt(12 / 576))
    whole = fn.random.uniform(dtype=types.UINT16, shape=COUNT, seed=1).to(torch.int64)
    within(whole, 0, 65535, 32767.5, 65536 / np.sqrt(12))


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["INT", "UINT"])
def test_an_integer_type_without_a_range_is_drawn_from_as_a_whole(kind, bits):
    dtype = getattr(types, f"{kind}{bits}")
    drawn = np.asarray(fn.random.uniform(dtype=dtype, shape=COUNT, seed=3))
    limits = np.iinfo(drawn.dtype)
    size = float(limits.max) - float(limits.min)
    assert drawn.min() < limits.min + size / 64
    assert drawn.max() > limits.max - size / 64


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1e-44, 1e-43), (1e35, 0.8), (1.0, 1e7), (3e-37, 2e-35)]
)
def test_extreme_parameters_of_beta_stay_in_range(alpha, beta):
    drawn = fn.random.beta(alpha=alpha, beta=beta, shape=1000, seed=1)
    assert ((drawn >= 0) & (drawn <= 1)).all()


def test_normal_numbers_are_rounded_and_saturated():
    drawn = fn.random.normal(mean=127, stddev=10, dtype=types.INT8, shape=1000, seed=1)
    assert drawn.dtype == torch.int8
    assert drawn.max() == 127
    assert len(drawn.unique()) > 20


def test_parameters_may_differ_between_samples():
    def definition():
        mean, stddev = source([np.float32(m) for m in (0, 100, -50)]), source([np.float32(0)] * 3)
        p = source([np.float32([1, 0]), np.float32([0, 1]), np.float32([1, 0])])
        return (
            fn.random.normal(mean=mean, stddev=stddev, shape=2),
            fn.random.choice(source([np.int16([7, 8])] * 3), p=p, shape=4),
            fn.random.coin_flip(probability=source([np.float32(x) for x in (0, 1, 0)])),
        )

    normal, choice, coin = run(definition)
    assert [each.tolist() for each in normal[1]] == [[0, 0], [100, 100], [-50, -50]]
    assert [each.tolist() for each in choice[1]] == [[7] * 4, [8] * 4, [7] * 4]
    assert [each.item() for each in coin[1]] == [0, 1, 0]


def test_choice_takes_slices_with_their_layout():
    clips = [np.arange(12, dtype=np.uint16).reshape(3, 2, 2), np.zeros((1, 1, 1), np.uint16)]

    def definition():
        data = source(clips, "FHW")
        draw = fn.random.choice
        return draw(data), draw(data, shape=5), draw(data, shape=(2, 1)), draw(data, shape=0)

    single, several, nested, none = run(definition, batch_size=2)
    assert single[0] == "HW"
    assert any(np.array_equal(single[1][0], frame) for frame in clips[0])
    assert several[0] == "FHW"
    assert {frame.tobytes() for frame in several[1][0]} <= {f.tobytes() for f in clips[0]}
    assert nested[0] == ""
    assert [each.shape for each in nested[1]] == [(2, 1, 2, 2), (2, 1, 1, 1)]
    assert [each.shape for each in none[1]] == [(0, 2, 2), (0, 1, 1)]


def test_choice_of_a_number_is_below_it_with_its_type():
    drawn = fn.random.choice(torch.tensor(5, dtype=torch.uint8), shape=1000, seed=1)
    assert drawn.dtype == torch.uint8
    assert drawn.unique().tolist() == [0, 1, 2, 3, 4]
    weighted = fn.random.choice(torch.tensor(3), p=[0.2, 0, 0.8], shape=COUNT, seed=1)
    assert weighted.unique().tolist() == [0, 2]
    assert abs((weighted == 2).double().mean() - 0.8) < 6 * 0.4 / np.sqrt(COUNT)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fn.random.uniform(range=(3, 1)),
        lambda: fn.random.uniform(range=(1,)),
        lambda: fn.random.uniform(values=[]),
        lambda: fn.random.beta(alpha=0),
        lambda: fn.random.beta(beta=-1),
        lambda: fn.random.beta(alpha=1e100),
        lambda: fn.random.beta(dtype=types.INT32),
        lambda: fn.random.choice(torch.tensor(0)),
        lambda: fn.random.choice(torch.tensor(-3)),
        lambda: fn.random.choice(torch.tensor(3.0)),
        lambda: fn.random.choice(torch.zeros(0)),
        lambda: fn.random.choice(torch.tensor(3), p=[0.5, 0.5]),
        lambda: fn.random.choice(torch.tensor(3), p=[0.5, 0.2, 0.2]),
        lambda: fn.random.choice(torch.tensor(3), p=[-0.5, 0.5, 1.0]),
        lambda: fn.random_crop_generator(torch.tensor([4])),
        lambda: fn.random_crop_generator(torch.tensor([4.0, 5.0])),
        lambda: fn.random_crop_generator(torch.tensor([4, 5]), random_area=(0.9, 0.1)),
    ],
)
def test_what_cannot_be_drawn_is_refused(call):
    with pytest.raises(VideoError):
        call()


@pytest.mark.filterwarnings("ignore:.* is deprecated; use fn:DeprecationWarning")
def test_legacy_names_are_the_same_operators():
    for old, new in (("uniform", "uniform"), ("normal_distribution", "normal")):
        drawn = getattr(fn, old)(shape=5, seed=1)
        assert torch.equal(drawn, getattr(fn.random, new)(shape=5, seed=1))


def test_a_seed_makes_eager_draws_repeatable():
    def draws():
        return [fn.random.uniform(shape=5), fn.random.uniform(shape=5), fn.random.normal(shape=5)]

    videoloader.dali.seed(3)
    first = draws()
    assert not torch.equal(first[0], first[1])
    videoloader.dali.seed(3)
    assert all(map(torch.equal, first, draws()))
    assert not torch.equal(first[0], fn.random.uniform(shape=5))
    videoloader.dali.seed(None)
    assert not torch.equal(first[0], fn.random.uniform(shape=5))


def test_a_forked_process_draws_other_numbers():
    code = (
        "import os, warnings; warnings.simplefilter('ignore')\n"
        "from videoloader.sampling.seeding import next_call, seed\n"
        "def draw(): os.write(1, b'%d ' % next_call()(0).integers(1 << 60))\n"
        "next_call()\n"
        "for value in (None, 5):\n"
        "    seed(value)\n"
        "    child = os.fork()\n"
        "    draw()\n"
        "    if not child: os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
    )
    lines = run_program([sys.executable, "-c", code], check=True).stdout.split()
    assert len(lines) == 4
    assert lines[0] != lines[1]
    assert lines[2] == lines[3]


class Drawing(Dataset):
    """Samples are draws of an operator that is called outside a pipeline."""

    def __len__(self):
        return 6

    def __getitem__(self, number):
        return float(fn.random.uniform())


@pytest.mark.parametrize("seed", [None, 5])
def test_workers_of_a_loader_draw_other_numbers_in_every_epoch_and_torch_repeats_them(seed):
    def epochs(torch_seed):
        videoloader.dali.seed(seed)
        torch.manual_seed(torch_seed)
        loader = DataLoader(Drawing(), batch_size=1, num_workers=2, multiprocessing_context="fork")
        return [[batch.item() for batch in loader] for _ in range(2)]

    first = epochs(1)
    assert len({*first[0], *first[1]}) == 12
    assert epochs(1) == first
    assert not {*epochs(2)[0]} & {*first[0], *first[1]}


def test_a_worker_may_set_a_seed_of_its_own():
    def set_seed(worker):
        videoloader.dali.seed(70 + worker)

    loader = DataLoader(
        Drawing(), 1, num_workers=2, multiprocessing_context="fork", worker_init_fn=set_seed
    )
    drawn = [batch.item() for batch in loader]
    for worker in range(2):
        videoloader.dali.seed(70 + worker)
        assert drawn[worker::2] == [float(fn.random.uniform()) for _ in range(3)]


def test_a_random_window_lies_inside_with_its_area_and_ratio():
    shapes = [(100, 200), (300, 80)]
    for seed in range(20):

        def definition():
            sides = source([np.int64(each) for each in shapes])
            return fn.random_crop_generator(sides, random_area=(0.2, 0.5))

        (_, anchors), (_, sizes) = run(definition, batch_size=2, seed=seed)
        for shape, anchor, size in zip(shapes, anchors, sizes, strict=True):
            assert anchor.dtype == size.dtype == np.int32
            assert (anchor >= 0).all()
            assert (anchor + size <= shape).all()
            assert 0.18 <= np.prod(size) / np.prod(shape) <= 0.55
            assert 0.70 <= size[1] / size[0] <= 1.4


@pytest.mark.parametrize("crop", [(30, 40), (5, 6), (30, 6)])
@pytest.mark.parametrize("bounds", [None, (60, 70)])
def test_a_window_holds_its_region_or_lies_inside(crop, bounds):
    start, extent = np.array([20, 25]), np.array([10, 12])
    found = set()
    for seed in range(40):
        given = {} if bounds is None else {"in_shape": bounds}
        at = fn.roi_random_crop(
            crop_shape=crop, roi_start=start, roi_shape=extent, seed=seed, **given
        ).numpy()
        other = fn.roi_random_crop(
            *([] if bounds is None else [torch.zeros(*bounds, 3)]),
            crop_shape=crop,
            roi_start=start,
            roi_end=start + extent,
            seed=seed,
        ).numpy()
        np.testing.assert_array_equal(at, other)
        assert at.dtype == np.int64
        for axis in range(2):
            first, last = at[axis], at[axis] + crop[axis]
            inner, outer = (first, last), (start[axis], start[axis] + extent[axis])
            if crop[axis] >= extent[axis]:
                inner, outer = outer, inner
            assert outer[0] <= inner[0] <= inner[1] <= outer[1]
            assert bounds is None or (first >= 0 and last <= bounds[axis])
        found.add(tuple(at))
    assert len(found) > 10


@pytest.mark.parametrize(
    "given",
    [
        {"roi_end": [2, 2]},
        {"roi_shape": None},
        {"in_shape": [-4, 4]},
        {"crop_shape": [1, -1]},
        {"roi_start": [-1, -1]},
        {"roi_shape": [4, 4]},
        {"roi_shape": [1]},
        {"crop_shape": [10, 10]},
        {"roi_shape": None, "roi_end": [0, 0]},
    ],
)
def test_a_window_that_has_no_place_is_refused(given):
    call = {"in_shape": [4, 4], "crop_shape": [2, 2], "roi_start": [1, 1], "roi_shape": [1, 1]}
    with pytest.raises(VideoError):
        fn.roi_random_crop(**{**call, **given}, seed=1)


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("moves", [False, True])
def test_positions_of_a_batch_are_permuted_or_drawn(count, repeats, moves):
    def positions():
        return fn.batch_permutation(allow_repetitions=repeats, no_fixed_points=moves)

    with pipeline_def(positions)(batch_size=count, seed=1) as pipe:
        batches = [pipe.run()[0].as_array() for _ in range(60)]
    assert {batch.dtype.name for batch in batches} == {"int32"}
    counts = np.bincount(np.concatenate(batches), minlength=count)
    assert (counts > 0).all()
    assert len(counts) == count
    assert all(sorted(batch) == list(range(count)) for batch in batches) == (
        not repeats or count == 1 or (moves and count == 2)
    )
    if moves and count > 1:
        assert all((batch != range(count)).all() for batch in batches)
    if not repeats and count == 7:
        assert len({tuple(batch) for batch in batches}) > 50


def test_permuted_positions_put_a_batch_into_another_order():
    def define():
        positions = fn.batch_permutation(seed=3)
        values = fn.external_source(lambda: np.arange(5, dtype=np.int32), batch=True)
        return positions, fn.permute_batch(values, indices=positions)

    with pipeline_def(define)(batch_size=5) as pipe:
        for _ in range(3):
            positions, values = pipe.run()
            assert positions.as_array().tolist() == values.as_array().tolist()
