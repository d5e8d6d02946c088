"""Writes iterator_checkpoints.json: what iterators of DALI 2.4 give before and after checkpoints.

    python tests/dali/references/iterator_checkpoints.py

A scenario is a pipeline, what is called before the checkpoint is taken, and what is called after
it: on the iterator that gave it, and on a new one over pipelines that go on from it. Calls are
`next`, `reset`, `len`, `loop` (to the end) and `loop N` (left after N batches). Where DALI's new
iterator gives something else than its first one would have given, the scenario is left out; with
`prepare_first_batch=False` a restored iterator of DALI has an empty loop at the end of an epoch.
"""

import itertools
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

TARGET = Path(__file__).with_suffix(".json")
SOURCE_BATCHES = 4
BEFORE = (["next"] * 2, ["next"] * 4, ["loop"], ["loop", "reset"], ["loop", "loop 2"], ["loop 4"])
AFTER = (["len", "loop", "len", "loop"], ["next"] * 6, ["reset", "loop"])


def scenarios():
    """Configurations with their calls."""
    calls = list(itertools.product(BEFORE, AFTER))
    policies = itertools.product(("FILL", "DROP", "PARTIAL"), (False, True), (False, True))
    for policy, pad, auto in policies:
        for files, shards, stick in ((7, 1, False), (15, 2, False), (15, 2, True)):
            reader = {"files": files, "shards": shards, "stick": stick, "pad": pad}
            for before, after in itertools.product(BEFORE[:-1], AFTER[:-1]):
                yield {"reader": reader, "policy": policy, "auto": auto}, before, after
    for size, source, auto in itertools.product((None, 8), ("batch", "sample"), (False, True)):
        for before, after in calls:
            yield {"source": source, "size": size, "policy": "FILL", "auto": auto}, before, after


def by_batch(number):
    """A source of batches that ends."""
    if number >= SOURCE_BATCHES:
        raise StopIteration
    return [np.array([10 * number + at], np.int32) for at in range(2)]


def by_sample(info):
    """A source of samples that ends, and tells its epoch."""
    if info.iteration >= SOURCE_BATCHES:
        raise StopIteration
    return np.array([100 * info.epoch_idx + info.idx_in_epoch], np.int32)


def iterator(library, folder, given, checkpoints=None):
    """An iterator over the pipelines of a configuration."""
    fn, pipeline_def, iterator_class, policies = library
    reader = given.get("reader")
    pipelines = []
    for shard in range(reader["shards"] if reader else 1):

        def define(shard=shard):
            if reader is None:
                if given["source"] == "batch":
                    return fn.external_source(source=by_batch, batch=True)
                return fn.external_source(source=by_sample, batch=False)
            _, number = fn.readers.file(
                files=[str(Path(folder, f"{at}.bin")) for at in range(reader["files"])],
                labels=list(range(reader["files"])),
                name="reader",
                num_shards=reader["shards"],
                shard_id=shard,
                stick_to_shard=reader["stick"],
                pad_last_batch=reader["pad"],
            )
            return number

        options = {"checkpoint": checkpoints[shard]} if checkpoints else {}
        made = pipeline_def(define, enable_checkpointing=True)
        pipelines.append(made(batch_size=2, num_threads=1, device_id=None, seed=1, **options))
    length = {"reader_name": "reader"} if reader else {"size": given["size"] or -1}
    policy = getattr(policies, given["policy"])
    return iterator_class(
        pipelines, ["x"], auto_reset=given["auto"], last_batch_policy=policy, **length
    )


def result(batches, call):
    """What a call gives, as JSON has it."""

    def values(step):
        return [pipeline["x"].flatten().tolist() for pipeline in step]

    name, _, count = call.partition(" ")
    try:
        if name == "next":
            return values(next(batches))
        if name == "reset":
            return batches.reset()
        if name == "len":
            return len(batches)
        found = []
        for step in batches:
            found.append(values(step))
            if len(found) == int(count or -1):
                break
        return found
    except StopIteration:
        return "StopIteration"


def run(library, folder, given, before, after):
    """What the calls give: before the checkpoint, after it, and from it on."""
    first = iterator(library, folder, given)
    begun = [result(first, call) for call in before]
    checkpoints = first.checkpoints()
    rest = [result(first, call) for call in after]
    second = iterator(library, folder, given, checkpoints)
    return begun, rest, [result(second, call) for call in after]


def write_files(folder):
    """The files that readers read."""
    for number in range(15):
        Path(folder, f"{number}.bin").write_bytes(bytes([number]))


if __name__ == "__main__":
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    library = fn, pipeline_def, DALIGenericIterator, LastBatchPolicy
    found, left_out = [], 0
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder)
        for each in scenarios():
            begun, rest, resumed = run(library, folder, *each)
            left_out += resumed != rest
            if resumed == rest:
                found.append([*each, begun, rest])
    lines = [json.dumps(each, separators=(",", ":")) for each in found]
    TARGET.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    sys.stderr.write(f"{len(found)} scenarios, {left_out} left out\n")
