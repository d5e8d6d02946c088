"""Pipelines as JAX arrays: epochs as PyTorch's iterator has them, sharing, sharding, peeking."""

import json
import os
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from iterated import TEN, ending, labelled

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin import jax as plugin
from videoloader.dali.plugin import pytorch
from videoloader.dali.plugin.jax import (
    ClassificationIterator,
    GenericIterator,
    LastBatchPolicy,
    PeekableIterator,
    clu,
    data_iterator,
    peekable_data_iterator,
)
from videoloader.dali.plugin.jax.arrays import to_jax
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, OperatorError, UnsupportedError

RANK = """
import sys
import numpy as np
import jax
from videoloader.dali import fn
from videoloader.dali.plugin.jax import data_iterator

jax.distributed.initialize(sys.argv[1], num_processes=2, process_id=int(sys.argv[2]))
mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))

@data_iterator(output_map=["x"], sharding=sharding, size=4)
def numbers(shard_id, num_shards):
    assert num_shards == 4
    return fn.external_source(lambda: np.full((2, 2), shard_id, np.int32))

with numbers(batch_size=8) as iterator:
    x = next(iterator)["x"]
own = [int(part.data[row, 0]) for part in x.addressable_shards for row in range(2)]
print(str(own).replace(" ", ""), int(jax.jit(lambda x: x.sum())(x)), flush=True)
"""

pytestmark = [pytest.mark.needs("jax"), pytest.mark.usefixtures("no_threads_left")]

NAMES = ["clip", "label"]


@pytest.fixture(scope="module")
def jax():
    import jax

    return jax


@pytest.fixture
def cpus(jax):
    return jax.local_devices(backend="cpu")


def rows_over(jax, devices, *names, spec=None):
    """A sharding of the first dimension over devices in this order."""
    mesh = jax.sharding.Mesh(np.array(devices), names or ("data",))
    spec = jax.sharding.PartitionSpec(mesh.axis_names[0]) if spec is None else spec
    return jax.sharding.NamedSharding(mesh, spec)


def shard(number, *batches, **arguments):
    """A pipeline whose samples say which shard they are of."""
    data = [[100 * number + value for value in batch] for batch in batches]
    return pipeline_def(lambda: fn.external_source(data, cycle="raise"))(
        batch_size=len(batches[0]), **arguments
    )


@pytest.mark.parametrize("policy", list(LastBatchPolicy))
@pytest.mark.parametrize("padded", [True, False])
def test_epochs_are_those_of_pytorchs_iterator(jax, videos, policy, padded):
    def batches(kind):
        with kind(
            labelled(pad_last_batch=padded, batch_size=2),
            NAMES,
            reader_name="Reader",
            last_batch_policy=policy,
        ) as iterator:
            for _ in range(3):
                for batch in iterator:
                    arrays = batch[0] if isinstance(batch, list) else batch
                    yield len(iterator), iterator.layouts, *map(np.asarray, arrays.values())

    ours, expected = list(batches(GenericIterator)), list(batches(pytorch.GenericIterator))
    assert len(ours) == len(expected)
    for (*facts, clip, label), (*told, frames, number) in zip(ours, expected, strict=True):
        assert facts == told
        assert np.array_equal(clip, frames)
        assert np.array_equal(label, number)


@pytest.mark.parametrize(
    ("dtype", "given", "is_shared"),
    [
        (torch.uint8, "uint8", True),
        (torch.bool, "bool", True),
        (torch.int32, "int32", True),
        (torch.float16, "float16", True),
        (torch.bfloat16, "bfloat16", True),
        (torch.float32, "float32", True),
        (torch.int64, "int32", False),
        (torch.float64, "float32", False),
    ],
)
def test_arrays_share_memory_except_for_64_bits(jax, dtype, given, is_shared):
    tensor = torch.tensor([[0, 1], [1, 0]], dtype=dtype)
    array = to_jax(tensor)
    assert array.dtype == given
    assert array.tolist() == tensor.tolist()
    assert (array.unsafe_buffer_pointer() == tensor.data_ptr()) is is_shared


@pytest.mark.parametrize(
    ("device_id", "width", "batches"),
    [(None, 256, 40), pytest.param(0, 4096, 60, marks=pytest.mark.gpu)],
)
def test_memory_is_not_used_again_before_jax_has_read_it(jax, device_id, width, batches):
    """Each batch goes through work that lasts longer than making the next ones."""

    @jax.jit
    def late(x):
        work = jax.numpy.ones((width, width), jax.numpy.float32)
        for _ in range(20):
            work = work @ work / width
        return (x + 0 * work[0, 0]).max()  # the batch is read at the very end

    @pipeline_def(batch_size=64, device_id=device_id, prefetch_queue_depth=3)
    def numbers():
        source = [np.full((64, width, 16), number, np.float32) for number in range(batches)]
        data = fn.external_source(source, cycle="raise")
        return (data if device_id is None else data.gpu()) + 0

    with GenericIterator(numbers(), ["x"]) as iterator:
        results = [late(batch["x"]) for batch in iterator]  # queued, not waited for
    assert [float(result) for result in results] == [*range(batches)]


def test_views_of_any_shape_become_arrays(jax):
    block = torch.arange(24, dtype=torch.uint8).reshape(4, 6)
    for view in (block[:0], block.T, block.flatten()[3:], block[:, ::2]):
        assert np.array_equal(to_jax(view), view.numpy())


def test_several_pipelines_give_a_leading_dimension(jax):
    pipes = [shard(number, *TEN) for number in range(3)]
    with GenericIterator(pipes, ["x"], size=30) as iterator:
        batches = [batch["x"] for batch in iterator]
    assert all(isinstance(batch, jax.Array) for batch in batches)
    assert [batch.tolist() for batch in batches] == [
        [[100 * number + value for value in batch] for number in range(3)] for batch in TEN
    ]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_a_sharding_puts_each_pipeline_on_its_rows(jax, cpus, order):
    sharding = rows_over(jax, [cpus[number] for number in order])
    pipes = [shard(number, *TEN) for number in range(4)]
    with GenericIterator(pipes, ["x"], size=40, sharding=sharding) as iterator:
        for batch, values in zip(iterator, TEN, strict=True):
            array = batch["x"]
            assert array.sharding == sharding
            expected = [100 * number + value for number in range(4) for value in values]
            assert array.tolist() == expected
            parts = {part.device: part.data.tolist() for part in array.addressable_shards}
            assert parts == {
                cpus[device]: [100 * number + value for value in values]
                for number, device in enumerate(order)
            }


def test_rows_are_copied_along_the_other_dimensions_of_a_mesh(jax, cpus):
    sharding = rows_over(jax, np.reshape(cpus[:4], (2, 2)), "data", "model")
    with GenericIterator(
        [shard(0, *TEN), shard(1, *TEN)], ["x"], size=20, sharding=sharding
    ) as iterator:
        array = next(iterator)["x"]
        total = jax.jit(lambda x: x.sum())(array)
    parts = {part.device.id: part.data.tolist() for part in array.addressable_shards}
    assert parts == {0: [0, 1], 1: [0, 1], 2: [100, 101], 3: [100, 101]}
    assert total == 202


def test_rows_are_in_order_whatever_the_order_of_the_axes(jax, cpus):
    spec = jax.sharding.PartitionSpec(("b", "a"))
    sharding = rows_over(jax, np.reshape(cpus[:4], (2, 2)), "a", "b", spec=spec)
    pipes = [shard(number, *TEN) for number in range(4)]
    with GenericIterator(pipes, ["x"], size=40, sharding=sharding) as iterator:
        array = next(iterator)["x"]
    assert array.tolist() == [0, 1, 100, 101, 200, 201, 300, 301]
    parts = {part.device.id: int(part.data[0]) for part in array.addressable_shards}
    assert parts == {0: 0, 1: 200, 2: 100, 3: 300}


def test_arrays_go_through_functions_compiled_for_a_sharding(jax, cpus):
    sharding = rows_over(jax, cpus[:2])
    pipes = [shard(number, *TEN) for number in range(2)]
    double = jax.jit(lambda x: 2 * x, in_shardings=sharding, out_shardings=sharding)
    with GenericIterator(pipes, ["x"], size=20, sharding=sharding) as iterator:
        assert double(next(iterator)["x"]).tolist() == [0, 2, 200, 202]


def test_what_makes_no_array_is_an_error(jax, cpus):
    two = [ending(*TEN), ending(*TEN)]
    sharding = rows_over(jax, cpus[:2])
    with pytest.raises(ArgumentError, match="PARTIAL gives shards of several sizes"):
        GenericIterator(two, ["x"], size=20, last_batch_policy=LastBatchPolicy.PARTIAL)
    with pytest.raises(ArgumentError, match="2 blocks of rows in this process, for 1 pipelines"):
        GenericIterator(two[:1], ["x"], size=10, sharding=sharding)
    with pytest.raises(ArgumentError, match=r"must be a jax.sharding.Sharding, got 'data'"):
        GenericIterator(two, ["x"], size=20, sharding="data")
    frames = rows_over(jax, cpus[:2], spec=jax.sharding.PartitionSpec(None, "data"))
    with pytest.raises(ArgumentError, match="names the first dimension only"):
        GenericIterator(two, ["x"], size=20, sharding=frames)
    wide = [ending([[1, 2], [3, 4]]), ending([[1, 2, 3], [4, 5, 6]])]
    with (
        GenericIterator(wide, ["x"], size=4) as iterator,
        pytest.raises(UnsupportedError, match=r"'x': .* shapes \(2, 2\), \(2, 3\)"),
    ):
        next(iterator)


def test_states_go_on_with_the_next_batch(jax, videos):
    def iterate(**arguments):
        pipe = labelled(batch_size=3, pad_last_batch=True, enable_checkpointing=True)
        return GenericIterator(pipe, NAMES, reader_name="Reader", **arguments)

    with iterate() as iterator:
        whole = [batch["label"][:, 0].tolist() for batch in iterator]
    with iterate() as iterator:
        first = [next(iterator)["label"][:, 0].tolist()]
        state = json.loads(json.dumps(iterator.state_dict()))
    with iterate() as iterator:
        iterator.load_state_dict(state)
        assert first + [batch["label"][:, 0].tolist() for batch in iterator] == whole


def test_two_outputs_are_data_and_label(jax, videos):
    with ClassificationIterator(labelled(batch_size=2), reader_name="Reader") as iterator:
        assert next(iterator).keys() == {"data", "label"}


# -- peeking


@pytest.mark.parametrize("size", [-1, 10])
def test_a_peeked_batch_is_the_next_one(jax, size):
    with PeekableIterator(ending(*TEN), ["x"], size=size) as iterator:
        seen = []
        for _ in range(2):
            for batch in iterator:
                seen.append(batch["x"].tolist())
                if len(seen) % len(TEN):
                    assert iterator.peek() is iterator.peek()
                    with pytest.warns(RuntimeWarning, match="peeked"):
                        iterator.reset()
                    assert iter(iterator) is iterator  # the batch waits
                else:
                    with pytest.raises(StopIteration):
                        iterator.peek()
        assert seen == TEN + TEN


def test_a_batch_can_be_peeked_at_in_a_thread(jax):
    with PeekableIterator(ending(*TEN), ["x"]) as iterator:
        future = iterator.peek_async()
        assert future.result(20)["x"].tolist() == TEN[0]
        assert [batch["x"].tolist() for batch in iterator] == TEN
    assert not [thread for thread in threading.enumerate() if "peek" in thread.name]


def test_outputs_of_a_peekable_iterator_keep_their_shape(jax):
    batches = [[[1.0, 2.0]], [[3.0, 4.0]], [[5.0]]]
    with PeekableIterator(ending(*batches), ["x"]) as iterator:
        spec = iterator.element_spec["x"]
        assert (spec.shape, spec.dtype) == ((1, 2), np.float32)
        assert [next(iterator)["x"].tolist() for _ in range(2)] == batches[:2]
        with pytest.raises(
            UnsupportedError, match=r"'x' is float32\[1, 1\], the .* float32\[1, 2\]"
        ):
            next(iterator)


def test_states_do_not_count_a_batch_that_was_peeked_at(jax, videos):
    pipe = labelled(batch_size=3, enable_checkpointing=True)
    with PeekableIterator(pipe, NAMES, reader_name="Reader") as iterator:
        next(iterator)
        state, checkpoints = iterator.state_dict(), iterator.checkpoints()
        peeked = iterator.peek()["label"].tolist()
        assert (iterator.state_dict(), iterator.checkpoints()) == (state, checkpoints)
        next(iterator)
        assert iterator.state_dict() != state
        iterator.peek()
        iterator.load_state_dict(state)
        assert next(iterator)["label"].tolist() == peeked


def test_without_checkpoints_peeking_works_and_states_are_refused(jax):
    with PeekableIterator(ending(*TEN), ["x"]) as iterator:
        iterator.peek()
        with pytest.raises(ArgumentError, match="enable_checkpointing"):
            iterator.state_dict()


# -- decorators


def test_the_decorator_makes_an_iterator(jax, videos):
    @data_iterator(output_map=["label"], reader_name="Reader")
    def labels(files):
        return fn.readers.video(
            filenames=files, labels=[], sequence_length=40, name="Reader", step=40
        )[1]

    with labels(["clip0.mp4", "clip1.mp4"], batch_size=2, device_id=None) as iterator:
        assert isinstance(iterator, GenericIterator)
        assert sorted({int(x) for batch in iterator for x in batch["label"][:, 0]}) == [0, 1]


@pytest.mark.parametrize("way", ["sharding", "devices"])
@pytest.mark.parametrize("decorator", [data_iterator, peekable_data_iterator])
def test_the_decorator_gives_each_device_its_shard(jax, cpus, way, decorator):
    given = {"sharding": rows_over(jax, cpus[:4])} if way == "sharding" else {"devices": cpus[:4]}
    seen = []

    @decorator(output_map=["x"], size=24, **given)
    def numbers(shard_id, num_shards):
        seen.append((shard_id, num_shards))
        values = np.arange(24, dtype=np.int32)[shard_id::num_shards]
        return fn.external_source(list(values.reshape(3, 2)), cycle="raise")

    with numbers(batch_size=8) as iterator:
        batches = [batch["x"] for batch in iterator]
    assert seen == [(number, 4) for number in range(4)]
    shape = (8,) if way == "sharding" else (4, 2)
    assert [batch.shape for batch in batches] == [shape] * 3
    assert sorted(np.concatenate([np.ravel(batch) for batch in batches])) == [*range(24)]


def test_checkpoints_of_the_decorator_go_on(jax):
    @data_iterator(output_map=["x"], size=12)
    def numbers():
        return fn.random.uniform(range=(0, 1))

    given = {"batch_size": 3, "seed": 5, "enable_checkpointing": True}
    with numbers(**given) as iterator:
        whole = [batch["x"].tolist() for batch in iterator]
    with numbers(**given) as iterator:
        next(iterator)
        checkpoints = iterator.checkpoints()
    with numbers(**given, checkpoints=checkpoints) as iterator:
        assert next(iterator)["x"].tolist() == whole[1]
    with pytest.raises(ArgumentError, match="2 checkpoints for 1 pipelines"):
        numbers(**given, checkpoints=checkpoints * 2)


def test_processes_share_an_array(jax, tmp_path):
    """Two processes with two devices each; the first four rows are of the first process."""
    (tmp_path / "rank.py").write_text(RANK)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    environment = os.environ | {"JAX_NUM_CPU_DEVICES": "2", "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, str(tmp_path / "rank.py"), address]
    ranks = [
        subprocess.Popen([*words, number], env=environment, stdout=subprocess.PIPE, text=True)
        for number in "01"
    ]
    try:
        told = [rank.communicate(timeout=120)[0].split()[-2:] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert told == [["[0,0,1,1]", "24"], ["[2,2,3,3]", "24"]]


def test_arguments_of_the_decorator_without_a_meaning_are_errors(jax, cpus):
    with pytest.raises(ArgumentError, match="sharding excludes devices"):
        data_iterator(lambda: None, sharding=rows_over(jax, cpus[:2]), devices=cpus[:2])
    make = data_iterator(lambda shard_id, num_shards: None, devices=cpus[:2])
    with pytest.raises(ArgumentError, match="multiple of their number, got 3"):
        make(batch_size=3)


# -- functions of JAX in a pipeline


def outputs_of(function, *batches, **arguments):
    def define():
        operator = plugin.fn.jax_function(function, **arguments)
        return operator(*(fn.external_source([batch], layout="HW") for batch in batches))

    with pipeline_def(define)(batch_size=len(batches[0])) as pipe:
        return pipe.run()


def test_a_compiled_function_runs_on_batches(jax):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    flip = jax.jit(jax.vmap(lambda image: image[:, ::-1]))
    (given,) = outputs_of(flip, images, output_layouts="HW")
    assert np.array_equal(given.as_array(), images[:, :, ::-1])
    assert given.layout() == "HW"


def test_a_function_may_have_several_outputs_or_none(jax):
    images = np.ones((2, 3, 4), np.float32)
    total, count = outputs_of(
        lambda x, y: ((x + y).sum((1, 2)), x.shape[0] * y[:, 0, 0]), images, images, num_outputs=2
    )
    assert total.as_array().tolist() == [24, 24]
    assert count.as_array().tolist() == [2, 2]
    seen = []

    def define():
        data = fn.external_source([images])
        plugin.fn.jax_function(num_outputs=0)(lambda x: seen.append(x.shape))(data)
        return data

    with pipeline_def(define)(batch_size=2, prefetch_queue_depth=1) as pipe:
        pipe.run()
    assert seen == [(2, 3, 4)]


def test_samples_of_a_function_have_one_shape(jax):
    def define():
        data = fn.external_source([[np.zeros((1, 2)), np.zeros((2, 2))]])
        return plugin.fn.jax_function(lambda x: x)(data)

    with (
        pipeline_def(define)(batch_size=2) as pipe,
        pytest.raises(OperatorError, match="'input 0' is ragged"),
    ):
        pipe.run()
    with pytest.raises(UnsupportedError, match="does not take a sharding"):
        plugin.fn.jax_function(lambda x: x, sharding="data")


def test_names_are_those_of_dali():
    assert plugin.DALIGenericIterator is GenericIterator
    assert plugin.DALIClassificationIterator is ClassificationIterator
    assert clu.DALIGenericPeekableIterator is PeekableIterator


# -- GPU


@pytest.mark.gpu
def test_arrays_share_memory_on_a_gpu():
    import jax

    for dtype in (torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.float32):
        tensor = torch.tensor([[0, 1], [1, 0]], dtype=dtype, device="cuda")
        array = to_jax(tensor)
        assert array.unsafe_buffer_pointer() == tensor.data_ptr()
        assert [device.platform for device in array.devices()] == ["gpu"]
        assert np.array_equal(jax.device_get(array).astype(float), tensor.double().cpu())


@pytest.mark.gpu
def test_each_pipeline_has_its_rows_on_its_gpu():
    import jax

    gpus = jax.local_devices(backend="gpu")
    sharding = rows_over(jax, gpus)

    @data_iterator(output_map=["x"], sharding=sharding)
    def numbers(shard_id, num_shards):
        return fn.external_source(lambda: np.full((2, 3), shard_id, np.float32)).gpu() + 1

    with numbers(batch_size=2 * len(gpus)) as iterator:
        array = next(iterator)["x"]
    assert array.sharding == sharding
    for number, gpu in enumerate(gpus):
        (part,) = [part.data for part in array.addressable_shards if part.device == gpu]
        assert np.asarray(part).tolist() == [[number + 1.0] * 3] * 2


@pytest.mark.gpu
def test_a_function_of_jax_runs_on_the_gpu():
    import jax

    @plugin.fn.jax_function
    @jax.jit
    def double(x):
        return 2 * x

    @pipeline_def(batch_size=4, device_id=0)
    def numbers():
        data = fn.external_source(lambda: np.ones((4, 128, 128), np.float32), batch=True).gpu()
        return double(data), data

    with numbers() as pipe:
        for _ in range(8):
            doubled, data = pipe.run()
            assert isinstance(doubled, TensorList)
            assert doubled.device.type == "cuda"
            assert torch.equal(doubled.as_tensor(), 2 * data.as_tensor())
