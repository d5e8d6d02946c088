"""Serialized pipelines and checkpoints are input: what is wrong in them is an error of ours."""

import json
from pathlib import Path

import numpy as np
import pytest

from videoloader.dali import fn, pipeline_def
from videoloader.dali.pipeline import Pipeline
from videoloader.errors import ArgumentError, UnsupportedError

DEPTH = 100_000


def fed():
    return fn.external_source(name="x", layout="HWC")


WRITERS = {
    "error_log": lambda place: {"error_log": place / "log"},
    "a reader's error_log": lambda place: fn.readers.video(
        filenames=["a.mp4"], sequence_length=1, on_error="skip", error_log=place / "log"
    ),
    "annotations": lambda place: fn.readers.coco(
        file_root=place,
        annotations_file=place / "a.json",
        save_preprocessed_annotations=True,
        save_preprocessed_annotations_dir=place / "kept",
    )[0],
    "dump_image": lambda place: fn.dump_image(fed(), suffix=str(place / "x")),
}


@pytest.mark.parametrize("name", ["error_log", "a reader's error_log", "annotations", "dump_image"])
def test_what_writes_files_is_taken_from_those_who_are_trusted(name, tmp_path):
    made = WRITERS[name]
    if name == "error_log":
        pipe = pipeline_def(fed)(batch_size=1, **made(tmp_path))
    else:
        pipe = pipeline_def(lambda: made(tmp_path))(batch_size=1)
    text = pipe.serialize()
    with pytest.raises(UnsupportedError, match=r"writes files: .*trusted=True"):
        Pipeline.deserialize(text)
    assert Pipeline.deserialize(text, trusted=True).serialize() == text
    if name == "error_log":
        assert Pipeline.deserialize(text, error_log=None).serialize() != text
    else:
        with pytest.raises(UnsupportedError, match=r"writes files: .*trusted=True"):
            Pipeline(batch_size=1).deserialize_and_build(text)
    assert list(tmp_path.iterdir()) == []


def test_urls_are_written_without_what_may_be_secret():
    secret = "https://user:canary@host.invalid/a.mp4?signature=canary"

    @pipeline_def(batch_size=1)
    def reading():
        return fn.readers.file(files=[secret, "plain?a", Path("local")])[0]

    text = reading().serialize()
    assert b"canary" not in text
    assert b'"https://host.invalid/a.mp4", "plain?a", "local"' in text


def content(**changes):
    text = json.loads(pipeline_def(fed)(batch_size=1).serialize())
    return json.dumps({**text, **changes})


def nested(text, inside):
    """JSON with something that no `json.dumps` could write."""
    return text.replace('"HERE"', inside)


def with_argument(inside):
    node = json.loads(content())["nodes"][0]
    node["arguments"] = {"ndim": "HERE"}
    return nested(content(nodes=[node]), inside)


def with_branch():
    inside = "null"
    for _ in range(900):
        inside = f"[[0, 0, {inside}], true]"
    node = json.loads(content())["nodes"][0]
    return nested(content(nodes=[node, {**node, "branch": "HERE"}]), inside)


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEPTH,
        with_argument("[" * DEPTH + "]" * DEPTH),
        with_argument('{"list": [' * 300 + "1" + "]}" * 300),
        with_branch(),
        with_argument("1" * 10_000),
        with_argument("1e999"),
        with_argument('{"array": ["<f4", [1e999], ""]}'),
        with_argument('{"array": ["<f4", [4000000000, 4000000000], ""]}'),
        content(pipeline={"batch_size": {"enum": ["DataType", "NONE"]}}),
        content(pipeline={"system": "ls"}),
        content(pipeline=[]),
        b"\xff\xfe\x00",
        7,
    ],
    ids=range(13),
)
def test_text_that_is_odd_is_an_error_of_ours(text):
    with pytest.raises(ArgumentError):
        Pipeline.deserialize(text)


GOOD = {"version": 1, "seed": 3, "batch_size": 1, "batches": 2}


@pytest.mark.parametrize(
    "changes",
    [
        {"batches": 1.5},
        {"batches": -1},
        {"batches": None},
        {"batch_size": 0},
        {"seed": -2},
        {"batches": "HERE"},
        {"epoch_start": 9},
        {"epoch": -1},
        {"more": 1},
        {"readers": [[1, 2]]},
        {"readers": [[4.5, 1, 1, False, False, []]]},
        {"version": 99},
    ],
    ids=str,
)
def test_a_checkpoint_is_checked_when_it_is_taken(changes):
    for inside in ("1e999", "[" * DEPTH) if "HERE" in changes.values() else ("",):
        text = nested(json.dumps({**GOOD, **changes}), inside)
        with pytest.raises(ArgumentError, match="checkpoint"):
            Pipeline(batch_size=1, checkpoint=text)


def test_a_sound_checkpoint_is_taken():
    pipe = pipeline_def(lambda: fn.external_source(lambda n: np.full((1, 1), n)))(
        batch_size=1, checkpoint=json.dumps(GOOD)
    )
    with pipe:
        assert pipe.run()[0].as_tensor().item() == 2


WRONG = ["x", "", 1.5, True, [], float("nan"), {"a": 1}, 1 << 70]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize(
    "name", ["seed", "device_id", "prefetch_queue_depth", "num_threads", "py_num_workers"]
)
def test_wrong_arguments_of_a_pipeline_are_errors_that_name_them(name, wrong):
    if name == "seed" and wrong == 1 << 70:
        pytest.skip("any int is a seed")
    with pytest.raises(ArgumentError, match=rf"{name} of a pipeline .*got "):
        Pipeline.deserialize(content(), **{name: wrong})
    arguments = json.loads(content())["pipeline"]
    if isinstance(wrong, dict):
        wrong = {"map": [[key, value] for key, value in wrong.items()]}
    with pytest.raises(ArgumentError):
        Pipeline.deserialize(content(pipeline={**arguments, name: wrong})).build()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("batch_size", 1 << 40),
        ("batch_size", (1 << 24) + 1),
        ("prefetch_queue_depth", 1 << 30),
        ("prefetch_queue_depth", {"cpu_size": 2, "gpu_size": 1 << 30}),
        ("num_threads", 1 << 20),
    ],
)
def test_counts_that_no_machine_has_memory_for_are_errors(name, wrong):
    with pytest.raises(ArgumentError, match=rf"{name} of a pipeline .* from 1 to \d+, got "):
        Pipeline(**{"batch_size": 1, name: wrong})
    with pytest.raises(ArgumentError, match=rf"{name} of a pipeline .* from 1 to \d+, got "):
        Pipeline.deserialize(content(), **{name: wrong})


@pytest.mark.parametrize("wrong", [{}, {"cpu_size": "x"}, {"cpu_size": 2, "other": 3}])
def test_depths_of_two_queues_are_checked(wrong):
    with pytest.raises(ArgumentError, match=r"prefetch_queue_depth of a pipeline"):
        Pipeline(batch_size=1, prefetch_queue_depth=wrong)


@pytest.mark.parametrize("changed", [{"name": []}, {"name": 3}, {"device": []}, {"device": "x"}])
def test_wrong_names_and_devices_of_operators_are_errors(changed):
    node = json.loads(content())["nodes"][0]
    with pytest.raises(ArgumentError):
        Pipeline.deserialize(content(nodes=[{**node, **changed}])).build()
