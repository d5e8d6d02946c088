"""The CUDA kernel of `paste` and `multi_paste`, against the same operators on the CPU."""

import numpy as np
import pytest
import torch
from kernel_batches import DTYPES, LAYOUTS, PAIRS, batch_of, check
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError

MEMORIES = ["ragged", "dense", "views"]
WIDE_DTYPES = (torch.bool, torch.int8, torch.int32, torch.float64)


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


PLACES = {
    "ratio": [1.0, 1.7, 2.0, 1.3, 3.0],
    "paste_x": [0.5, 0.0, 1.0, 0.3, 0.9],
    "paste_y": [0.0, 1.0, 0.5, 0.7, 0.1],
}


@pytest.mark.parametrize("dtype", [*DTYPES, *WIDE_DTYPES])
def test_frames_of_every_type_are_pasted(machine, dtype):
    batch = batch_of("FHWC", dtype if dtype in DTYPES else torch.uint8)
    batch = TensorList([sample.to(dtype) for sample in batch], "FHWC")
    check(machine, "paste", [batch], {**PLACES, "fill_value": 1.0}, bound=0, kernel="paste")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_frames_of_every_layout_are_pasted(machine, layout, memory):
    batch = batch_of(layout, memory=memory)
    arguments = {**PLACES, "fill_value": [7.9, 300.0, -5.0], "min_canvas_size": 25.0}
    check(machine, "paste", [batch], arguments, bound=0)
    check(machine, "paste", [batch], {"ratio": 1.5, "fill_value": 3}, bound=0)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_frames_of_any_channels_are_pasted(machine, channels):
    batch = batch_of("HWC", channels=channels)
    check(machine, "paste", [batch], {**PLACES, "fill_value": 9.0}, bound=0)
    with pytest.raises(ArgumentError, match="one for each of"):
        machine.run("paste", [batch], {**PLACES, "fill_value": [1.0] * 5})


# ---- several regions


def regions_of(batch, per_sample, canvas, seed=4):
    """Random regions of samples chosen from a batch, inside them and the canvas."""
    rng = np.random.default_rng(seed)
    axes = [batch.layout().index(letter) for letter in "HW"]
    found = {"in_ids": [], "in_anchors": [], "shapes": [], "out_anchors": []}
    for _ in batch:
        ids = rng.integers(0, len(batch), per_sample).tolist()
        places = {"in_anchors": [], "shapes": [], "out_anchors": []}
        for number in ids:
            sides = np.array([batch[number].shape[axis] for axis in axes])
            size = rng.integers(0, np.minimum(sides, canvas) + 1)
            places["in_anchors"].append(rng.integers(0, sides - size + 1).tolist())
            places["out_anchors"].append(rng.integers(0, np.array(canvas) - size + 1).tolist())
            places["shapes"].append(size.tolist())
        found["in_ids"].append(ids)
        for name, values in places.items():
            found[name].append(values)
    return {**found, "output_size": canvas}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_regions_lie_one_over_the_other(machine, layout, memory):
    batch = batch_of(layout, memory=memory)
    for seed in range(3):
        arguments = regions_of(batch, 6, (43, 37), seed)
        check(machine, "multi_paste", [batch], arguments, bound=0, kernel="paste")


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_regions_are_converted(machine, source, target):
    batch = batch_of("FHWC", source)
    arguments = regions_of(batch, 3, (43, 37))
    check(machine, "multi_paste", [batch], {**arguments, "dtype": target}, bound=0)


@pytest.mark.parametrize("dtype", WIDE_DTYPES)
def test_types_of_which_no_value_is_computed(machine, dtype):
    batch = TensorList([sample.to(dtype) for sample in batch_of("HWC")], "HWC")
    check(machine, "multi_paste", [batch], regions_of(batch, 3, (43, 37)), bound=0)
    if dtype == torch.int32:
        given = {**regions_of(batch, 3, (43, 37)), "dtype": torch.float32}
        check(machine, "multi_paste", [batch], given, bound=0, launches=0)


def test_inputs_are_pasted_beside_each_other(machine):
    clips, pictures = batch_of("FHWC", frames=3, seed=1), batch_of("HWC", seed=2)
    given = {
        "output_size": (60, 70),
        "out_anchors_rel": [[[0.0, 0.0], [0.3, 0.2]]] * 5,
        "shapes_rel": [[[0.7, 0.5], [0.5, 0.6]]] * 5,
        "in_anchors_rel": [[[0.0, 0.0], [0.2, 0.1]]] * 5,
    }
    check(machine, "multi_paste", [clips, pictures], given, bound=0)


def test_frames_have_places_of_their_own(machine):
    clips = batch_of("FHWC", frames=3, memory="dense")
    places = [[[0, 0]], [[20, 9]], [[5, 30]]]
    anchors = [places if at % 2 else [[3, 4]] for at in range(5)]
    given = {"output_size": (60, 70), "in_ids": [[at] for at in (4, 3, 2, 1, 0)]}
    check(machine, "multi_paste", [clips], {**given, "out_anchors": anchors}, bound=0)


def test_a_canvas_may_stay_empty(machine):
    batch = batch_of("HWC")
    given = {"in_ids": [[], [1], [], [2, 3], []], "output_size": (50, 60)}
    check(machine, "multi_paste", [batch], given, bound=0)
    given["in_ids"] = [[]] * 5
    check(machine, "multi_paste", [batch], given, bound=0)
