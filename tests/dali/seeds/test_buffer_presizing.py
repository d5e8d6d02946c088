"""Memory of every operator: measure it in one run, give it as a hint to the next."""

import pytest
from pets import COUNT, pet

from videoloader.dali import fn, pipeline_def, types
from videoloader.errors import ArgumentError

NO_HINTS = {"files": None, "decoded": None, "resized": None, "floats": None}


@pipeline_def(batch_size=COUNT, num_threads=2, device_id=0, seed=1, fuse=False)
def graph(folder, hints):
    jpegs, labels = fn.readers.file(
        file_root=folder, name="files", bytes_per_sample_hint=hints["files"]
    )
    images = fn.decoders.image(jpegs, name="decoded", bytes_per_sample_hint=hints["decoded"])
    images = fn.resize(
        images, size=(20, 30), name="resized", bytes_per_sample_hint=hints["resized"]
    )
    floats = fn.cast(
        images, dtype=types.FLOAT, name="floats", bytes_per_sample_hint=hints["floats"]
    )
    return floats, labels


def test_the_largest_sample_of_every_output_is_measured_and_hints_change_no_pixel(pets):
    with graph(pets, NO_HINTS, enable_memory_stats=True) as pipe:
        pixels, _ = pipe.run()
        statistics = pipe.executor_statistics()
    hints = {name: statistics[name]["max_real_memory_size"] for name in NO_HINTS}
    sizes = [pet(number).size for number in range(COUNT)]
    files = [path.stat().st_size for path in pets.rglob("*.jpeg")]
    assert hints == {
        "files": [max(files), 4],  # a label has four bytes
        "decoded": [max(sizes)],
        "resized": [20 * 30 * 3],
        "floats": [20 * 30 * 3 * 4],
    }
    assert statistics["decoded"]["real_memory_size"] == [sum(sizes)]
    assert statistics["files"]["real_memory_size"] == [sum(files), 4 * COUNT]
    for measured in statistics.values():
        assert measured["reserved_memory_size"] >= measured["real_memory_size"]
        assert measured["max_reserved_memory_size"] >= measured["max_real_memory_size"]
    with graph(pets, hints, bytes_per_sample=max(sizes)) as pipe:
        again, _ = pipe.run()
    assert (again.as_tensor() == pixels.as_tensor()).all()


def test_memory_is_measured_only_where_it_was_asked_for(pets):
    with graph(pets, NO_HINTS) as pipe:
        pipe.run()
        with pytest.raises(ArgumentError, match="enable_memory_stats"):
            pipe.executor_statistics()
