"""Conditions on data nodes: each sample goes its own way, as a program for one sample says it."""

import numpy as np
import pytest
import torch
from random_programs import random_program

from videoloader.dali import fn, types
from videoloader.dali.pipeline import Pipeline, do_not_convert, pipeline_def
from videoloader.dali.pipeline.experimental import pipeline_def as experimental_def
from videoloader.errors import ArgumentError, ArgumentTypeError, OperatorError

pytestmark = pytest.mark.usefixtures("no_threads_left")

BATCH = 7


def numbers(scale=1, shift=0, dtype=np.int32):
    """0, 1, 2, ... for the samples as they come, times a scale."""
    return fn.external_source(
        lambda info: np.array(info.idx_in_epoch * scale + shift, dtype), batch=False
    )


def run(definition, *, batches=2, **arguments):
    """Values of each output for all samples, of a definition with conditionals."""
    given = {"batch_size": BATCH, "num_threads": 3, "seed": 5, **arguments}
    with pipeline_def(definition, enable_conditionals=True)(**given) as pipe:
        pipe.build()
        results = [pipe.run() for _ in range(batches)]
    return [
        [np.asarray(sample) for batch in column for sample in batch]
        for column in zip(*results, strict=True)
    ]


def scalars(definition, **arguments):
    return [[sample.item() for sample in column] for column in run(definition, **arguments)]


INPUTS = ((1, -3), (-2, 9), (3, -20))  # scale and shift


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_every_sample_goes_its_own_way(seed, debug):
    program, source = random_program(seed)

    def definition():
        return program(*(numbers(*each) for each in INPUTS))

    found = zip(*scalars(definition, debug=debug), strict=True)
    expected = [
        program(*(np.int32(sample * scale + shift) for scale, shift in INPUTS))
        for sample in range(2 * BATCH)
    ]
    assert [tuple(map(int, each)) for each in expected] == list(found), source


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("truth", [False, True])
def test_constants_with_a_device_are_conditions_and_indices(truth, debug):
    def definition():
        constant = types.Constant(np.array(truth), device="cpu")
        at = types.Constant(np.array(2), device="cpu")
        chosen = numbers() * 0 - 1
        if constant:
            chosen = numbers()
        other = numbers() if not constant else numbers(scale=2)
        both, either = constant and numbers() % 2 == 0, constant or numbers() % 2 == 0
        item = types.Constant(np.arange(5, dtype=np.int32), device="cpu")[at]
        return chosen, other, both, either, item

    chosen, other, both, either, item = scalars(definition, debug=debug, batches=1)
    assert chosen == ([*range(BATCH)] if truth else [-1] * BATCH)
    assert other == [n * 2 if truth else n for n in range(BATCH)]
    assert both == [truth and n % 2 == 0 for n in range(BATCH)]
    assert either == [truth or n % 2 == 0 for n in range(BATCH)]
    assert item == [2] * BATCH


def test_random_draws_in_a_branch_are_those_of_the_sample():
    def chosen():
        n = numbers()
        if n % 3 == 0:
            value = fn.random.uniform(range=[0, 1])
        elif n % 3 == 1:
            value = fn.random.uniform(range=[5, 6])
        else:
            value = np.float32(-1)
        return value

    def both():
        n = numbers()
        return n, fn.random.uniform(range=[0, 1]), fn.random.uniform(range=[5, 6])

    n, first, second = scalars(both, batches=3)
    expected = [(a, b, -1)[number % 3] for number, a, b in zip(n, first, second, strict=True)]
    assert scalars(chosen, batches=3) == [expected]
    for batch_size, batches in ((1, 21), (3, 7), (21, 1)):
        for threads in (1, 4):
            found = scalars(chosen, batch_size=batch_size, batches=batches, num_threads=threads)
            assert found == [expected]


@pytest.mark.parametrize("taken", [0, BATCH])
def test_a_branch_may_have_no_sample(taken):
    def definition():
        n = numbers()
        if n < taken:  # noqa: SIM108
            value = fn.cast(n, dtype=types.FLOAT)
        else:
            value = fn.constant(fdata=[9.0], shape=[])
        return value, n

    value, n = scalars(definition, batches=1)
    assert value == ([9.0] * BATCH if not taken else n)


def test_arguments_and_values_for_each_sample_follow_their_samples():
    angles = [bool(number % 2) for number in range(BATCH)]

    def definition():
        n = numbers()
        image = fn.external_source(
            lambda info: np.arange(12, dtype=np.uint8).reshape(2, 2, 3) + info.idx_in_batch,
            batch=False,
            layout="HWC",
        )
        if n > 2:
            image = fn.flip(image, horizontal=angles, vertical=n % 3 == 0)
        return image

    (images,) = run(definition, batches=1)
    for number, image in enumerate(images):
        expected = np.arange(12, dtype=np.uint8).reshape(2, 2, 3) + number
        if number > 2 and angles[number]:
            expected = expected[:, ::-1]
        if number > 2 and number % 3 == 0:
            expected = expected[::-1]
        assert (image == expected).all()


def test_samples_of_branches_may_differ_in_shape():
    def definition():
        n = numbers()
        row = fn.external_source(
            lambda info: np.full((info.idx_in_batch + 1, 2), info.idx_in_batch), batch=False
        )
        row = row[:1] if n % 2 else row
        return row, row.shape()

    rows, shapes = run(definition, batches=1)
    for number, (row, shape) in enumerate(zip(rows, shapes, strict=True)):
        assert row.shape == tuple(shape) == ((1 if number % 2 else number + 1), 2)
        assert (row == number).all()


def test_containers_are_merged_item_by_item():
    class Pair:
        def __init__(self, first):
            self.first = first

    def definition():
        n = numbers()
        pair = Pair(n)
        if n > 3:
            pair.first, values, table = n + 1, [n, 2], {"key": (n, 3)}
        else:
            values, table = (n * 10, n * 100), {"key": (1, n)}
            values = list(values)
        return pair.first, *values, *table["key"]

    assert list(zip(*scalars(definition, batches=1), strict=True)) == [
        (n + 1, n, 2, n, 3) if n > 3 else (n, n * 10, n * 100, 1, n) for n in range(BATCH)
    ]


def test_functions_that_are_called_take_part_and_closures_work():
    limit = 4
    seen = []

    def larger(value, by=1):
        seen.append(by)  # once for each call, not for each sample
        if value > limit:
            return value + by
        return -value

    def definition():
        n = numbers()
        twice = [larger(each, by=10) for each in (n, n + 1)]
        n = larger(n) if n % 2 else n
        return (*twice, n, (lambda value: not value)(n))

    found = list(zip(*scalars(definition, batches=1), strict=True))
    assert seen == [10, 10, 1]

    def one(n):
        chosen = larger(n) if n % 2 else n
        return larger(n, by=10), larger(n + 1, by=10), chosen, not chosen

    assert found == [one(n) for n in range(BATCH)]


def test_plain_conditions_stay_plain_inside_and_around():
    def definition(flip):
        n = numbers()
        if flip:
            if n > 2:
                n = -n if flip == "twice" else n + 100
        elif n > 2:
            return n
        return n

    for flip, expected in (("twice", lambda n: -n), (1, lambda n: n + 100)):

        def chosen(flip=flip):
            return definition(flip)

        assert scalars(chosen, batches=1) == [[expected(n) if n > 2 else n for n in range(BATCH)]]


def test_a_function_that_is_not_converted_sees_data_nodes_only():
    @do_not_convert
    def helper(n):
        return n + 1 if n else n

    with pytest.raises(TypeError, match="enable_conditionals=True"):
        run(lambda: helper(numbers()))


@pytest.mark.parametrize("order", [(do_not_convert, pipeline_def), (pipeline_def, do_not_convert)])
def test_a_definition_is_not_among_the_functions_that_are_left_alone(order):
    first, second = order
    with pytest.raises(ArgumentError, match="enable_conditionals=True"):
        second(first(lambda: numbers()))


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.uint8, np.int64, np.uint64, np.float16, np.float64], ids=str
)
def test_a_condition_is_any_scalar_and_true_unless_it_is_0(dtype):
    def definition():
        n = fn.external_source(lambda info: np.array(info.idx_in_batch % 3, dtype), batch=False)
        chosen = 1 if n else 0
        return chosen, not n

    chosen, negated = scalars(definition, batches=1)
    assert chosen == [int(number % 3 != 0) for number in range(BATCH)]
    assert negated == [not each for each in chosen]


def lacking():
    if numbers() > 2:
        value = 1
    return value


def returned_once():  # noqa: RET503
    if numbers() > 2:
        return 1


def returned_in_the_middle(n=0):
    n = numbers()
    if n > 2:
        if n > 4:
            return n
        n = n + 1
    return n


def unlike_containers():
    value = [1] if numbers() > 2 else [1, 2]
    return value[0]


def unlike_things():
    return "a" if numbers() > 2 else "b"


def left_loop():
    n = numbers()
    for _ in range(3):
        if n > 2:
            break
    return n


def on_gpu():
    return 1 if numbers().gpu() else 0


def and_a_number():
    return (numbers() > 2) and 5


def mixed_branches():
    n = numbers()
    kept = []
    if n > 2:
        kept.append(n + 1)
    else:
        kept.append(n + 2)
    return kept[0] + kept[1]


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (lacking, "value has no value in the `else` branch"),
        (returned_once, "`if` branch returns a value and the `else` branch does not"),
        (returned_in_the_middle, "`return` under a condition that is a data node"),
        (unlike_containers, "1 items in the `if` branch, 2 in the `else` branch"),
        (unlike_things, "str in the `if` branch, str in the `else` branch"),
        (left_loop, "`break` under a condition that is a data node"),
        (on_gpu, "the condition of an `if` expression must be on the CPU"),
        (and_a_number, "the right side of `and` must be a data node or a bool"),
        (mixed_branches, "takes data of different branches"),
    ],
)
def test_mistakes_are_named_at_their_line(definition, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        run(definition)
    lines = [entry.lineno for entry in caught.traceback if str(entry.path) == __file__]
    first = definition.__code__.co_firstlineno
    assert first < lines[-1] + 1 < first + 12


@pytest.mark.parametrize("threads", [1, 4])
def test_branches_of_different_kinds_are_refused_whatever_the_parts_are(threads):
    def types_differ():
        n = numbers()
        return n if n > 2 else fn.cast(n, dtype=types.FLOAT)

    def shapes_differ():
        n = numbers()
        return n if n > 2 else np.int32([1, 2])

    def not_a_scalar():
        value = fn.external_source(lambda info: np.int32([info.idx_in_batch]), batch=False)
        return 1 if value else 2

    def not_bool():
        n = numbers()
        return n and n > 2

    for definition, message in (
        (types_differ, "different types"),
        (shapes_differ, "different numbers of dimensions"),
        (not_a_scalar, r"must be a scalar .* got shape \(1,\); an index .*label\[0\]"),
        (not_bool, "the left side of `and` must be of type BOOL"),
    ):
        with pytest.raises(OperatorError, match=message):
            run(definition, num_threads=threads)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_failure_in_a_branch_names_the_sample_of_the_whole_batch(threads):
    def definition():
        n = numbers()
        row = fn.external_source(lambda info: np.zeros(6 - info.idx_in_batch % 7), batch=False)
        value = fn.cast(n, dtype=types.FLOAT64)
        if n % 2:
            value = row[1] if n != 3 else value
        return value

    # Sample 5 of a batch has one element: number 5 in the first batch, 12, which is even, next.
    with pytest.raises(OperatorError, match=r"failed on sample 5 of batch 0"):
        run(definition, num_threads=threads, batches=1)


def test_split_and_merge_by_hand_give_parts_of_a_batch():
    @pipeline_def(batch_size=BATCH, num_threads=3)
    def definition():
        n = numbers()
        predicate = n % 3 == 0
        true, false = fn._conditional.split(n, predicate=predicate)
        halves = fn._conditional.split(np.float32([1, 2]), predicate=predicate)
        merged = fn._conditional.merge(true * 10, -false, predicate=predicate)
        return true, false + 0, merged, halves[0], fn._conditional.not_(predicate)

    with definition() as pipe:
        pipe.build()
        true, false, merged, halves, negated = pipe.run()
    assert [int(each) for each in true] == [0, 3, 6]
    assert [int(each) for each in false] == [1, 2, 4, 5]
    assert [int(each) for each in merged] == [0, -1, -2, 30, -4, -5, 60]
    assert halves.as_tensor().tolist() == [[1, 2]] * 3
    assert [bool(each) for each in negated] == [n % 3 != 0 for n in range(BATCH)]


def test_split_needs_bools_on_the_cpu():
    def other_type():
        return fn._conditional.split(numbers(), predicate=numbers())[0]

    with pytest.raises(OperatorError, match="must be of type BOOL"):
        run(other_type)
    with pytest.raises(ArgumentError, match="must be on the CPU"):
        fn._conditional.split(numbers(), predicate=numbers().gpu())
    with pytest.raises(ArgumentError, match="must be a data node, got bool"):
        fn._conditional.split(numbers(), predicate=True)


def test_videos_are_decoded_for_the_samples_of_a_branch_only(videos):
    def definition():
        n = numbers()
        files = fn.external_source(lambda info: f"{info.idx_in_epoch}.mp4", batch=False)
        if n % 2 == 1 and n < BATCH:
            clip = fn.decoders.video(files, start_frame=n, sequence_length=3)
        else:
            clip = np.zeros((1, 4, 6, 3), np.uint8)
            clip = types.Constant(clip, layout="FHWC", device="cpu")
        return clip

    (clips,) = run(definition)
    for number, clip in enumerate(clips):
        is_decoded = number % 2 and number < BATCH  # nothing of the second batch
        expected = [number, number + 1, number + 2] if is_decoded else [0]
        assert clip[:, 0, 0, 0].tolist() == expected
    assert set(videos.opened) == {"1.mp4", "3.mp4", "5.mp4"}


def test_a_decoder_does_nothing_of_a_branch_along_with_decoding(videos):
    def definition():
        clip, label = fn.readers.video(
            filenames=["a.mp4", "b.mp4"], labels=[0, 1], sequence_length=20
        )
        if label[0]:
            small = fn.crop(clip, crop=(2, 2))
        else:
            small = types.Constant(np.zeros((1, 1, 1, 3), np.uint8), layout="FHWC", device="cpu")
        return small, label

    clips, labels = run(definition, batches=1)
    for clip, label in zip(clips, labels, strict=True):
        assert clip.shape == ((20, 2, 2, 3) if label[0] else (1, 1, 1, 3))


def test_where_samples_come_from_is_kept(videos):
    def definition():
        clip, label = fn.readers.video(
            filenames=["a.mp4", "b.mp4"], labels=[0, 1], sequence_length=2
        )
        return clip[0] if label[0] else clip[1]

    with pipeline_def(definition, enable_conditionals=True)(batch_size=20, num_threads=2) as pipe:
        pipe.build()
        (images,) = pipe.run()
    info = images.source_info()
    for image, name in zip(images, info, strict=True):
        assert name in ("a.mp4", "b.mp4")
        assert int(image[0, 0, 0]) % 2 == (name == "a.mp4")


def test_without_the_argument_a_condition_says_what_is_missing():
    def definition():
        return 1 if numbers() else 0

    with pytest.raises(ArgumentTypeError, match="enable_conditionals=True"):
        pipeline_def(definition)(batch_size=1)


def test_graphs_without_conditions_have_no_branches():
    @pipeline_def(batch_size=2, num_threads=1, enable_conditionals=True)
    def definition(double=True):
        n = numbers()
        if double:
            n = n * 2
        return n

    pipe = definition()
    assert all(node.branch is None for node in pipe._graph.nodes)
    assert "merge" not in repr(pipe)
    pipe.close()


def test_statistics_and_drawings_know_branches(tmp_path):
    @pipeline_def(batch_size=3, num_threads=1, enable_conditionals=True, enable_memory_stats=True)
    def definition():
        n = numbers()
        if n > 5:
            n = fn.cast(n + 1, dtype=types.INT32, name="seldom")
        return n

    with definition() as pipe:
        pipe.build()
        for _ in range(3):
            pipe.run()
        pipe.save_graph_to_dot_file(tmp_path / "graph.dot")
        memory = pipe.executor_statistics()["seldom"]
        assert pipe.stats()["seldom"].samples in range(3, 13)  # some batches may be made ahead
    assert memory["real_memory_size"] == [12]
    assert 'label="if"' in (tmp_path / "graph.dot").read_text()


def test_define_graph_of_a_subclass_takes_part():
    class Signs(Pipeline):
        def define_graph(self):
            n = numbers()
            return self.sign(n), n

        def sign(self, n):
            if n > 3:
                return 1
            return -1

    with Signs(batch_size=BATCH, num_threads=1, enable_conditionals=True) as pipe:
        pipe.build()
        assert [int(each) for each in pipe.run()[0]] == [-1] * 4 + [1] * 3


def test_the_experimental_name_makes_the_same_pipelines():
    @experimental_def(batch_size=2, num_threads=1, enable_conditionals=True)
    def definition():
        n = numbers()
        return 5 if n else n

    with definition() as pipe:
        pipe.build()
        assert [int(each) for each in pipe.run()[0]] == [0, 5]


@pytest.mark.gpu
def test_data_on_a_gpu_follows_conditions_on_the_cpu():
    def definition():
        n = numbers()
        image = fn.external_source(
            lambda info: np.full((4, 4, 3), info.idx_in_batch, np.uint8), batch=False, layout="HWC"
        )
        moved = image.gpu()
        if n % 2:
            moved = fn.flip(fn.cast(moved + 1, dtype=types.UINT8), horizontal=1)
        elif n == 4:
            moved = fn.cast(image + 10, dtype=types.UINT8)  # on the CPU; merged on the GPU
        return moved

    with pipeline_def(definition, enable_conditionals=True)(batch_size=BATCH) as pipe:
        pipe.build()
        (images,) = pipe.run()
        expected = [n + 1 if n % 2 else 14 if n == 4 else n for n in range(BATCH)]
        assert images.device.type == "cuda"
        assert [torch.unique(each).tolist() for each in images] == [[value] for value in expected]
