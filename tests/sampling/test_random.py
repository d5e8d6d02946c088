import numpy as np
import pytest

from videoloader.sampling import generator

LARGE = (1 << 64) - 1


@pytest.mark.parametrize(
    "given",
    [
        {"seed": 0},
        {"seed": 7, "stage": 1, "sample": 2, "epoch": 3, "draw": 4},
        {"seed": LARGE, "stage": 1 << 63, "sample": LARGE, "epoch": LARGE, "draw": (1 << 63) + 1},
        {"seed": -1, "stage": -2, "sample": -3, "epoch": -4, "draw": -5},
        {"seed": 1 << 70, "sample": (1 << 64) + 5},
    ],
)
def test_a_stream_is_numpys_philox_of_its_key_and_counter(given):
    words = {"stage": 0, "sample": 0, "epoch": 0, "draw": 0, **given}
    seed, stage, sample, epoch, draw = (
        words[name] & LARGE for name in ("seed", "stage", "sample", "epoch", "draw")
    )
    philox = np.random.Philox(
        key=np.array([seed, stage], np.uint64),
        counter=np.array([0, draw, sample, epoch], np.uint64),
    )
    expected, drawn = np.random.Generator(philox), generator(**given)
    for draw_of in (
        lambda rng: rng.integers(1000, size=33),
        lambda rng: rng.random(9),
        lambda rng: rng.integers(7, dtype=np.uint8, size=3),
        lambda rng: rng.normal(size=50),
    ):
        np.testing.assert_array_equal(draw_of(drawn), draw_of(expected))


def test_streams_do_not_share_their_state():
    one, other = generator(1), generator(1)
    first = one.integers(1 << 62, size=5)
    np.testing.assert_array_equal(other.integers(1 << 62, size=5), first)


def test_a_generator_that_is_used_again_begins_the_stream_of_a_new_one():
    used = generator(3, sample=9)
    used.random(3), used.integers(7, dtype=np.uint8)  # the rest of a word, and of a block
    again = generator(7, stage=1, sample=2, epoch=3, draw=4, into=used)
    assert again is used
    new = generator(7, stage=1, sample=2, epoch=3, draw=4)
    for draw_of in (lambda rng: rng.integers(7, dtype=np.uint8, size=3), lambda rng: rng.random(9)):
        np.testing.assert_array_equal(draw_of(again), draw_of(new))
