"""Colour operators of a graph that run as one; on a GPU, or on what stands in for it here."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.pipeline.run.program import Program
from videoloader.errors import OperatorError

pytestmark = pytest.mark.usefixtures("no_threads_left")

BATCH = 5


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def gpu(request, monkeypatch):
    """Nodes of the GPU run on it, or on the CPU, where they are compiled as for a GPU."""
    if request.param == "cpu":
        program = functools.partialmethod(Program.__init__)

        def init(self, graph, options, pool):
            program.func(self, graph, replace(options, gpu="cpu"), pool)

        monkeypatch.setattr(Program, "__init__", init)
        monkeypatch.setattr("videoloader.dali.readers.video.media.check_gpu", lambda *what: None)
    return request.param


def clips_at(iteration):
    rng = np.random.default_rng(iteration)
    return [rng.integers(0, 256, (3, 9 + side, 11, 3), np.uint8) for side in range(BATCH)]


def graph(steps, **arguments):
    """A pipeline that sends clips through steps on the GPU."""

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0, seed=7, **arguments)
    def definition():
        return steps(fn.external_source(clips_at, layout="FHWC", name="clips").gpu())

    return definition()


def chain(clips):
    clips = fn.brightness_contrast(clips, brightness=fn.random.uniform(range=(0.5, 1.5)))
    clips = fn.hsv(clips, hue=fn.per_frame([10.0, 20.0, 70.0]), name="shades")
    return fn.color_twist(clips, contrast=[0.5, 1.0, 2.0, 1.5, 0.7], dtype=types.FLOAT)


def steps_of(pipe):
    """The steps of the GPU as described, without the copy in front."""
    lines = [line for line in pipe.describe().splitlines() if line.startswith("gpu: ")]
    steps = [step for line in lines for step in line.removeprefix("gpu: ").split(", ")]
    assert steps[0].startswith("copy ")
    return steps[1:]


def test_a_chain_is_one_step_and_gives_the_same_bits(gpu):
    with graph(chain) as fused, graph(chain, fuse=False) as unfused:
        assert [step.count(" + ") for step in steps_of(fused)] == [2]
        assert [step.count(" + ") for step in steps_of(unfused)] == [0, 0, 0]
        for _ in range(3):
            (made,), (wanted,) = fused.run(), unfused.run()
            assert made.layout() == wanted.layout() == "FHWC"
            for got, expected in zip(made, wanted, strict=True):
                assert torch.equal(got, expected)


def test_what_was_joined_is_described_counted_and_drawn(gpu, tmp_path):
    with graph(chain) as pipe:
        (step,) = steps_of(pipe)
        assert step.split(" + ") == [
            "brightness_contrast 'brightness_contrast_3'",
            "hsv 'shades'",
            "color_twist 'color_twist_7'",
        ]
        pipe.run()
        operators = pipe.stats().operators
        assert operators["brightness_contrast_3"].samples >= BATCH
        assert operators["shades"].samples == 0
        pipe.save_graph_to_dot_file(tmp_path / "graph.dot")
        drawn = (tmp_path / "graph.dot").read_text()
        assert drawn.count('label="fused"') == 1
        assert "fn.hsv\\nshades" in drawn


@pytest.mark.parametrize(
    "steps",
    [
        lambda clips: (fn.hue(hued := fn.hue(clips, hue=9.0), hue=3.0), hued),
        lambda clips: fn.hue(fn.flip(fn.hue(clips, hue=9.0)), hue=9.0),
        lambda clips: (lambda hued: fn.cat(fn.hue(hued), fn.hsv(hued)))(fn.hue(clips, hue=9.0)),
        lambda clips: fn.hue(fn.hue(clips.cpu(), hue=9.0), hue=9.0).gpu(),
    ],
    ids=["an output", "another operator", "two users", "the CPU"],
)
def test_values_that_are_needed_are_not_fused_away(gpu, steps):
    with graph(steps) as pipe:
        assert " + " not in pipe.describe()
        pipe.run()


def test_no_step_has_more_operators_than_a_kernel(gpu):
    def steps(clips):
        for turn in range(8):
            clips = fn.hue(clips, hue=turn)
        return clips

    with graph(steps) as fused, graph(steps, fuse=False) as unfused:
        assert [step.count(" + ") for step in steps_of(fused)] == [5, 1]
        for got, expected in zip(fused.run()[0], unfused.run()[0], strict=True):
            assert torch.equal(got, expected)


def test_an_error_names_the_operator_at_fault(gpu):
    def steps(clips):
        clips = fn.saturation(clips, saturation=0.5)
        clips = fn.hsv(clips, hue=fn.per_frame([1.0, 2.0]), name="wrong")
        return fn.color_twist(clips, hue=10.0)

    with graph(steps) as pipe:
        assert [step.count(" + ") for step in steps_of(pipe)] == [2]
        with pytest.raises(
            OperatorError,
            match=r"fn\.hsv 'wrong' \(test_color_fusion\.py:.*failed on sample 0 .*hue has values "
            "for 2 frames",
        ):
            pipe.run()


def test_branches_are_fused_within(gpu):
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0, seed=7, enable_conditionals=True)
    def definition():
        clips = fn.external_source(clips_at, layout="FHWC").gpu()
        clips = fn.hue(clips, hue=50.0)
        if fn.random.coin_flip(dtype=types.BOOL):
            clips = fn.hsv(fn.saturation(clips, saturation=3.0), value=0.7)
        return fn.brightness(clips, brightness=1.3)

    with definition() as fused, definition(fuse=False) as unfused:
        assert fused.describe().count(" + ") == 1
        for _ in range(3):
            for got, expected in zip(fused.run()[0], unfused.run()[0], strict=True):
                assert torch.equal(got, expected)
