"""What an iterator takes, what it says of itself, and how an epoch is begun."""

import inspect
import time

import pytest
from iterated import EPOCH_OF_TEN, FILES, TEN, ending, labelled, values_of

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin import base_iterator
from videoloader.dali.plugin.pytorch import (
    ClassificationIterator,
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    GenericIterator,
    LastBatchPolicy,
)
from videoloader.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("no_threads_left")

POLICIES = list(LastBatchPolicy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output_map": ["clip"]}, "1 names .* for a pipeline with 2 outputs"),
        ({"output_map": ["clip", "clip"]}, "names an output twice"),
        ({"reader_name": "Nobody"}, "no reader named 'Nobody'; it has Reader"),
        ({"reader_name": "Reader", "size": 3}, "excludes size"),
        ({"size": 0}, "size must be at least 1, or -1"),
        ({"last_batch_policy": "FILL"}, "must be LastBatchPolicy.FILL.*got str: 'FILL'"),
        ({"auto_reset": "silent"}, "auto_reset must be .*got 'silent'"),
    ],
)
def test_arguments_without_a_meaning_are_errors(videos, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        GenericIterator(
            **{"pipelines": labelled(batch_size=2), "output_map": ["a", "b"]} | arguments
        )


def test_pipelines_must_fit_together(videos):
    with pytest.raises(ArgumentError, match="at least one pipeline"):
        GenericIterator([], ["a"])
    with pytest.raises(ArgumentError, match=r"different batch sizes: \[2, 3\]"):
        GenericIterator([labelled(batch_size=2), labelled(batch_size=3)], ["a", "b"])
    with pytest.raises(ArgumentError, match="readers 'Reader' differ"):
        GenericIterator(
            [labelled(batch_size=2), labelled(batch_size=2, files=FILES[:3])],
            ["a", "b"],
            reader_name="Reader",
        )
    with pytest.raises(ArgumentError, match="2 pipelines need reader_name or size"):
        GenericIterator([ending(*TEN), ending(*TEN)], ["x"])


def test_dropping_every_batch_is_an_error(videos):
    with pytest.raises(ArgumentError, match=r"no epoch has a whole batch of 5 samples.*PARTIAL"):
        GenericIterator(
            labelled(batch_size=5, num_shards=2),
            ["clip", "label"],
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.DROP,
        )


@pytest.mark.parametrize("value", [True, "yes", False, "no", None])
def test_auto_reset_says_whether_next_goes_on(value):
    with GenericIterator(ending(*TEN[:2]), ["x"], auto_reset=value) as iterator:
        assert values_of(iterator) == EPOCH_OF_TEN[:2]
        if value in (True, "yes"):
            iterator.reset()  # it has been: nothing to do, nothing to warn of
        if value in (True, "yes"):
            assert next(iterator)[0]["x"].tolist() == TEN[0]
        else:
            with pytest.raises(StopIteration):
                next(iterator)


@pytest.mark.parametrize("value", ["yes", "no"])
@pytest.mark.parametrize("begin", [iter, GenericIterator.reset])
@pytest.mark.parametrize("policy", POLICIES)
def test_an_epoch_may_be_counted_instead_of_exhausted(videos, value, begin, policy):
    with GenericIterator(
        labelled(batch_size=2, pad_last_batch=True),
        ["clip", "label"],
        reader_name="Reader",
        auto_reset=value,
        last_batch_policy=policy,
    ) as iterator:
        begin(iterator)  # before the first batch this does nothing
        for _ in range(3):
            labels = [
                label
                for _ in range(len(iterator))
                for label in next(iterator)[0]["label"][:, 0].tolist()
            ]
            begin(iterator)
            assert labels[:6] == list(range(6))
            assert labels[6:] == {"FILL": [6, 6], "DROP": [], "PARTIAL": [6]}[policy.name]


def test_iter_inside_an_epoch_goes_on_with_it():
    with GenericIterator(ending(*TEN), ["x"], size=10) as iterator:
        assert next(iterator)[0]["x"].tolist() == TEN[0]
        assert values_of(iterator) == EPOCH_OF_TEN[1:]


@pytest.mark.parametrize(("fill", "last"), [(True, [4, 5]), (False, [4])])
def test_fill_last_batch_is_taken_with_a_warning(fill, last):
    with (
        pytest.warns(DeprecationWarning, match=r"fill_last_batch.*last_batch_policy=LastBatch"),
        GenericIterator(ending(*TEN), ["x"], size=5, fill_last_batch=fill) as iterator,
    ):
        assert values_of(iterator)[-1] == [last]


@pytest.mark.parametrize(
    ("policy", "padded", "size"),
    [
        (LastBatchPolicy.FILL, False, 4),
        (LastBatchPolicy.FILL, True, 4),
        (LastBatchPolicy.PARTIAL, True, 4),
        (LastBatchPolicy.DROP, True, 3),
    ],
)
def test_the_size_is_that_of_a_shard(videos, policy, padded, size):
    with GenericIterator(
        labelled(batch_size=2, num_shards=2, pad_last_batch=padded),
        ["clip", "label"],
        reader_name="Reader",
        last_batch_policy=policy,
    ) as iterator:
        assert iterator.size == size
        assert len(iterator) == size // 2


def test_nothing_runs_before_the_first_batch_where_that_is_asked_for():
    calls = []

    def count(iteration):
        calls.append(iteration)
        return [iteration]

    pipe = pipeline_def(lambda: fn.external_source(count))(batch_size=1)
    with GenericIterator(pipe, ["x"], prepare_first_batch=False) as iterator:
        time.sleep(0.05)
        assert calls == []
        assert next(iterator)[0]["x"].tolist() == [0]


def test_arguments_stand_where_dali_has_them():
    rest = [
        "auto_reset",
        "fill_last_batch",
        "dynamic_shape",
        "last_batch_padded",
        "last_batch_policy",
        "prepare_first_batch",
    ]
    generic = ["pipelines", "output_map", "size", "reader_name"]
    for kind, names in (
        (DALIGenericIterator, generic),
        (DALIClassificationIterator, ["pipelines", "size", "reader_name"]),
        (DALIRaggedIterator, [*generic, "output_types"]),
    ):
        assert list(inspect.signature(kind).parameters) == names + rest


def test_the_policy_is_found_where_dali_has_it():
    assert base_iterator.LastBatchPolicy is LastBatchPolicy


def test_a_classification_iterator_names_data_and_label(videos):
    with ClassificationIterator(labelled(batch_size=2), reader_name="Reader") as iterator:
        (batch,) = next(iterator)
        assert list(batch) == ["data", "label"]
        assert batch["label"].tolist() == [[0], [1]]


def test_the_iterator_knows_the_layouts_of_its_outputs(videos):
    with GenericIterator(
        labelled(batch_size=2), ["clip", "label"], reader_name="Reader"
    ) as iterator:
        assert iterator.layouts == {}
        next(iterator)
        assert iterator.layouts == {"clip": "FHWC", "label": ""}


def test_a_subclass_may_wrap_next():
    class Unwrapped(GenericIterator):
        def __next__(self):
            return super().__next__()[0][self.output_map[0]].tolist()

    with Unwrapped(ending(*TEN), ["x"]) as iterator:
        assert list(iterator) == TEN
        iterator.reset()
        assert iterator.next() == TEN[0]
