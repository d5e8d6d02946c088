"""What a policy makes of the samples of a batch that fail, whoever makes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import videoloader as vl
from videoloader.decoding.attempts import Attempts
from videoloader.decoding.failures import FailurePolicy, Failures
from videoloader.errors import DecodeError, ResourceError, TooManyFailuresError
from videoloader.sources.items import Item

SIZE = 6


class Ring:
    """All numbers behind one, round a data set."""

    def after(self, wanted):
        return iter([(wanted + step) % SIZE for step in range(1, SIZE)])

    def none_left(self, tries, error):
        return f"none of {tries}: {error}"


def made(policy, bad, *, wanted=range(SIZE), successors=None, may_be_empty=False):
    """The attempts at a batch in which some numbers fail, and what was recorded."""
    failures = Failures(policy)
    failures.ask(len(wanted))
    attempts = Attempts(failures, wanted, successors or Ring(), may_be_empty=may_be_empty)
    for places in attempts.rounds():
        for place in places:
            number = attempts.wanted[place]
            if number in bad:
                error = DecodeError(f"{number} is broken")
                attempts.note_failure(place, Item(f"{number}.mp4"), error, sample=number)
    return attempts, [failure.sample for failure in failures]


some = st.sets(st.integers(0, SIZE - 1), max_size=SIZE - 1)
batches = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=8)


@given(some, batches)
def test_with_replace_each_place_has_the_next_sample_that_does_not_fail(bad, wanted):
    attempts, recorded = made(FailurePolicy("replace"), bad, wanted=wanted)
    tried = [[(number + step) % SIZE for step in range(SIZE)] for number in wanted]
    assert attempts.wanted == [next(n for n in ring if n not in bad) for ring in tried]
    assert not attempts.left_out | attempts.masked
    assert attempts.errors.keys() == {at for at, number in enumerate(wanted) if number in bad}
    assert len(recorded) == sum(
        next(count for count, n in enumerate(ring) if n not in bad) for ring in tried
    )


@given(some, batches, st.booleans())
def test_with_skip_a_batch_is_smaller_and_only_empty_where_it_may_be(bad, wanted, may_be_empty):
    attempts, _ = made(FailurePolicy("skip"), bad, wanted=wanted, may_be_empty=may_be_empty)
    lost = {at for at, number in enumerate(wanted) if number in bad}
    if len(lost) == len(wanted) and not may_be_empty:
        lost.remove(len(wanted) - 1)
        assert attempts.wanted[-1] not in bad
    assert attempts.left_out == lost


@given(some, batches)
def test_with_mask_every_place_keeps_its_sample(bad, wanted):
    attempts, recorded = made(FailurePolicy("mask"), bad, wanted=wanted)
    assert attempts.wanted == wanted
    assert attempts.masked == attempts.errors.keys()
    assert recorded == [number for number in wanted if number in bad]


def test_with_raise_the_first_failure_is_recorded_and_raised():
    failures = Failures()
    attempts = Attempts(failures, ["a"])
    error = DecodeError("broken")
    with pytest.raises(DecodeError) as caught:
        attempts.note_failure(0, Item("a.mp4"), error)
    assert caught.value is error
    assert [failure.action for failure in failures] == ["raise"]


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_where_everything_fails_the_error_says_how_many_were_tried(policy):
    """With `skip` all of the batch fails, and then all that might stand for the last of it."""
    with pytest.raises(DecodeError, match=f"none of {SIZE}: "):
        made(FailurePolicy(policy), set(range(SIZE)))


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_without_successors_the_error_is_raised_where_one_is_needed(policy):
    attempts = Attempts(Failures(FailurePolicy(policy)), ["a"])
    with pytest.raises(DecodeError, match="broken"):
        attempts.note_failure(0, Item("a.mp4"), DecodeError("broken"))


@pytest.mark.parametrize("policy", ["raise", "skip", "replace", "mask"])
def test_what_the_machine_lacks_is_the_failure_of_no_sample(policy):
    failures = Failures(FailurePolicy(policy))
    attempts = Attempts(failures, range(2), Ring())
    lack = DecodeError("cannot be read")
    lack.__cause__ = OSError(24, "Too many open files")
    for error in (ResourceError("no memory"), lack):
        with pytest.raises(ResourceError):
            attempts.note_failure(0, Item("a.mp4"), error)
    assert failures.count == 0
    assert not attempts.left_out | attempts.masked


def test_too_many_failures_end_the_run_whatever_stands_for_them():
    with pytest.raises(TooManyFailuresError, match=r"3 of 6 samples .*4 is broken"):
        made(FailurePolicy("replace", 2), {1, 3, 4})


@given(st.integers(0, SIZE - 1), batches)
def test_the_place_that_ends_a_batch_is_known(bad, wanted):
    attempts = Attempts(Failures(), wanted)
    try:
        for place, number in enumerate(wanted):
            if number == bad:
                attempts.note_failure(place, Item("a.mp4"), DecodeError("broken"))
    except DecodeError:
        assert attempts.ended_by == wanted.index(bad)
    else:
        assert attempts.ended_by is None


def test_decode_batch_and_loaders_check_on_error_alike(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"nothing")
    with pytest.raises(vl.errors.ArgumentError) as one:
        vl.decode_batch([(tmp_path / "a.mp4", [0])], workers=0, on_error="ignore")
    with pytest.raises(vl.errors.ArgumentError) as other:
        vl.Loader([tmp_path / "a.mp4"], vl.UniformClip(2), batch_size=1, on_error="ignore")
    assert str(one.value) == str(other.value)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.booleans())
def test_without_successors_the_next_good_sample_of_the_batch_stands_for_a_bad_one(
    is_bad, may_be_empty
):
    attempts = Attempts(
        Failures(FailurePolicy("replace")), range(len(is_bad)), may_be_empty=may_be_empty
    )
    bad = [place for place, each in enumerate(is_bad) if each]
    for place in bad[:-1]:
        attempts.note_failure(place, Item("a.mp4"), DecodeError("broken"))
    if all(is_bad) and not may_be_empty:
        with pytest.raises(DecodeError):
            attempts.note_failure(bad[-1], Item("a.mp4"), DecodeError("broken"))
        return
    for place in bad[-1:]:
        attempts.note_failure(place, Item("a.mp4"), DecodeError("broken"))
    ahead = [[*range(place, len(is_bad)), *range(place)] for place in range(len(is_bad))]
    expected = [next((at for at in ring if not is_bad[at]), None) for ring in ahead]
    assert attempts.chosen == ([] if all(is_bad) else expected)
    assert [*attempts.rounds()] == [range(len(is_bad))]
