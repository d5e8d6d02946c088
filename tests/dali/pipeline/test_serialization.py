"""Pipelines as files: the same batches, no Python code, and errors for what is damaged."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader.dali import fn, types
from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.pipeline import Pipeline, pipeline_def
from videoloader.dali.pipeline.graph.serialization import decode, encode
from videoloader.errors import ArgumentError, OperatorError, UnsupportedError


@pipeline_def(batch_size=3, seed=11, num_threads=1)
def everything():
    """Values for samples and frames, enumerations, types, slices, draws, several outputs."""
    data = fn.external_source(name="mine", layout="FHWC")
    angle = fn.random.uniform(range=(-20, 20), seed=5)
    turned = fn.rotate(data, angle=angle, fill_value=7.5, interp_type=types.INTERP_NN)
    small = fn.resize(turned, size=[[8, 9], [7, 6], [5, 4]], dtype=types.FLOAT)
    mirrored = fn.flip(data, horizontal=[[1, 0], [0, 1], [1, 1]])
    cut = fn.crop(mirrored, crop=(4, 5), crop_pos_x=fn.random.uniform(range=(0, 1)))
    return small, cut[:, ::-1, 1:3], fn.cast(cut, dtype=types.FLOAT16), angle, cut


CLIPS = torch.randint(0, 256, (2, 3, 2, 12, 15, 3), dtype=torch.uint8)


def batches(pipe, count=2):
    with pipe:
        for at in range(count):
            pipe.feed_input("mine", CLIPS[at])
        return [
            [[sample.clone() for sample in output.tensors] for output in pipe.run()]
            for _ in range(count)
        ]


def same(ones, others):
    return all(
        torch.equal(a, b) and a.dtype == b.dtype
        for one, other in zip(ones, others, strict=True)
        for column, column_too in zip(one, other, strict=True)
        for a, b in zip(column, column_too, strict=True)
    )


def test_a_pipeline_from_text_or_a_file_gives_the_same_batches(tmp_path):
    text = everything().serialize(filename=tmp_path / "graph.json")
    expected = batches(everything())
    assert same(batches(Pipeline.deserialize(text)), expected)
    assert same(batches(Pipeline.deserialize(filename=tmp_path / "graph.json")), expected)
    assert Pipeline.deserialize(text).serialize() == text
    other = everything(seed=12, num_threads=2)
    other_seed = Pipeline.deserialize(text, seed=12, num_threads=2)
    assert other_seed.num_threads == 2
    assert same(batches(other_seed), batches(other))


@pipeline_def(batch_size=3, seed=11, num_threads=2, enable_conditionals=True)
def decided():
    """Branches that change data, leave it, nest, and draw."""
    data = fn.external_source(name="mine", layout="FHWC")
    draw = fn.random.uniform(range=(0, 1), shape=(2,))
    other = data
    if draw[0] < 0.5:
        if draw[1] < 0.5:
            data = fn.flip(data, horizontal=fn.random.coin_flip())
        else:
            data = fn.brightness(data, brightness=0.5)
            other = fn.flip(other, vertical=1)
    return data, other, draw


def test_branches_of_conditions_are_those_that_were_written():
    expected = batches(decided())
    assert same(batches(Pipeline.deserialize(decided().serialize())), expected)
    changed = {
        torch.equal(a, b) for data, other, _ in expected for a, b in zip(data, other, strict=True)
    }
    assert changed == {True, False}


def test_text_is_read_by_another_process(videos, tmp_path):
    @pipeline_def(batch_size=2, seed=3, num_threads=1)
    def reading():
        clips = fn.readers.video(
            filenames=["a.mp4", "b.mp4"], sequence_length=2, random_shuffle=True, name="Reader"
        )
        return fn.crop(clips, crop=(2, 3), crop_pos_x=fn.random.uniform(range=(0, 1)))

    text = reading().serialize()
    with reading() as pipe, Pipeline.deserialize(text) as again:
        assert again.reader_meta("Reader") == pipe.reader_meta("Reader")
        for _ in range(3):
            (expected,), (clips,) = pipe.run(), again.run()
            assert torch.equal(expected.as_tensor(), clips.as_tensor())
    program = "import sys; from videoloader.dali.pipeline import Pipeline\n"
    program += "pipe = Pipeline.deserialize(filename=sys.argv[1])\n"
    program += "print(pipe.batch_size, pipe.seed, pipe.num_outputs)"
    everything().serialize(filename=tmp_path / "graph.json")
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "graph.json")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert run.stdout.split() == ["3", "11", "5"]


def test_batch_size_is_overridden_where_no_argument_has_values_for_samples():
    @pipeline_def(batch_size=3, seed=1)
    def draws():
        return fn.random.uniform(range=(0, 1), shape=[2])

    text = draws().serialize()
    with draws(batch_size=5) as pipe, Pipeline.deserialize(text, batch_size=5) as again:
        assert torch.equal(pipe.run()[0].as_tensor(), again.run()[0].as_tensor())
    with pytest.raises(ArgumentError, match="3 values for a batch of 5"):
        Pipeline.deserialize(everything().serialize(), batch_size=5)


def test_what_is_said_of_outputs_and_of_execution_comes_back():
    @pipeline_def(batch_size=2, exec_pipelined=False, exec_async=False)
    def graph():
        return fn.external_source(name="pictures"), fn.random.uniform()

    text = graph(output_dtype=[types.UINT8, None], output_ndim=[3, None]).serialize()
    with Pipeline.deserialize(text) as again:
        assert (again.output_dtype(), again.output_ndim()) == ([types.UINT8, None], [3, None])
        assert (again.exec_pipelined, again.exec_async) == (False, False)
        again.feed_input("pictures", np.zeros((2, 3, 4), np.uint8))
        with pytest.raises(OperatorError, match="output_ndim is 3, the batch has 2"):
            again.run()
    with pytest.raises(ArgumentError, match="output_dtype has 1 values for 2 outputs"):
        graph(output_dtype=[types.UINT8]).serialize()


def test_a_graph_may_be_defined_for_serializing_or_taken_by_a_pipeline():
    def define():
        return fn.random.uniform(range=(0, 1))

    text = Pipeline(batch_size=2, seed=4).serialize(define)

    class Drawing(Pipeline):
        def define_graph(self):
            return define()

    assert Drawing(batch_size=2, seed=4, num_threads=1).serialize() == Pipeline(
        batch_size=2, seed=4, num_threads=1
    ).serialize(define)
    taking = Pipeline(batch_size=2, seed=4)
    taking.deserialize_and_build(text)
    with taking, Drawing(batch_size=2, seed=4) as pipe:
        assert torch.equal(taking.run()[0].as_tensor(), pipe.run()[0].as_tensor())
    with pytest.raises(ArgumentError, match="has a graph of its own"):
        Drawing.deserialize(text).deserialize_and_build(text)


@pytest.mark.parametrize("source", [lambda: np.zeros((1, 1)), [np.zeros((1, 1))] * 3])
def test_python_code_is_refused_by_name(source):
    if isinstance(source, list):
        source = iter(source)

    @pipeline_def(batch_size=1)
    def external():
        return fn.external_source(source, name="frames")

    with pytest.raises(UnsupportedError, match=r"'frames' .* source is Python code .* feed_input"):
        external().serialize()


def _damaged(**changes):
    content = json.loads(everything().serialize())
    content.update(changes)
    return json.dumps(content)


def test_what_is_no_pipeline_is_an_error():
    text = everything().serialize()
    nodes = json.loads(text)["nodes"]
    for damaged, message in (
        (b"", "no pipeline that"),
        (b"{}", "no pipeline that"),
        (text[:-9], "no pipeline that"),
        (_damaged(format="other"), "no pipeline that"),
        (_damaged(version=2), "of version 2"),
        (_damaged(outputs=[[99, 0]]), "damaged"),
        (_damaged(outputs=[[0, 7]]), "damaged"),
        (_damaged(nodes=[{**nodes[0], "operator": "os.system"}]), "has the operator fn.os.system"),
        (_damaged(nodes=[{**nodes[0], "inputs": [[3, 0]]}]), "damaged"),
        (_damaged(nodes=[{**nodes[0], "arguments": {"layout": {"code": "x"}}}]), "unknown kind"),
        (_damaged(nodes=[{**nodes[0], "arguments": {"what": 1}}]), "has no argument 'what'"),
        (_damaged(nodes=[{**nodes[0], "arguments": {"ndim": -1}}]), "ndim must be"),
    ):
        with pytest.raises((ArgumentError, OperatorError), match=message):
            Pipeline.deserialize(damaged)
    for arguments in ({}, {"serialized_pipeline": text, "filename": "graph.json"}):
        with pytest.raises(ArgumentError, match="either serialized_pipeline or filename"):
            Pipeline.deserialize(**arguments)


texts = st.text().filter(lambda text: "://" not in text)  # URLs lose their secrets
numbers = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts, st.binary()
)
values = st.recursive(
    numbers,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(texts, inner),
)


@given(values)
def test_values_come_back(value):
    text = json.dumps(encode(value), allow_nan=False)
    assert decode(json.loads(text)) == value


def test_values_of_every_kind_come_back():
    for value in (
        types.FLOAT16,
        types.INTERP_CUBIC,
        types.RGB,
        torch.uint8,
        slice(1, None, 2),
        ...,
    ):
        assert decode(json.loads(json.dumps(encode(value)))) == value
    assert math.isnan(decode(json.loads(json.dumps(encode(math.nan)))))
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert np.array_equal(decode(encode(array)), array)
    assert torch.equal(decode(encode(torch.from_numpy(array))), torch.from_numpy(array))
    assert decode(encode(PerSample((PerFrame((1, 2)), PerFrame((3, 4)))))) == [[1, 2], [3, 4]]
