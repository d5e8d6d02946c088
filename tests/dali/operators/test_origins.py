"""Where the samples of an output come from, if several inputs are known to come from files."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn
from videoloader.dali.pipeline import Pipeline
from videoloader.dali.tensors import TensorList

FILES = ["a", "b", "c"]


def known(files=FILES):
    frames = torch.arange(len(files) * 12, dtype=torch.uint8).reshape(len(files), 2, 2, 3)
    return TensorList(frames, "HWC", source_info=files)


def unknown():
    return TensorList(torch.zeros(3, 2, 2, 3, dtype=torch.uint8), "HWC")


@pytest.mark.parametrize(
    ("other", "expected"),
    [(known(), FILES), (known(["a", "x", "c"]), ["a", "", "c"]), (unknown(), FILES)],
)
def test_outputs_of_several_inputs_come_from_where_all_do(other, expected):
    for pair in ((known(), other), (other, known())):
        assert fn.cat(*pair).source_info() == expected
        assert (pair[0] + pair[1]).source_info() == expected


def test_a_permuted_batch_carries_its_files_along():
    assert fn.permute_batch(known(), indices=[2, 0, 0]).source_info() == ["c", "a", "a"]


def test_a_canvas_names_all_frames_that_were_pasted():
    pasted = fn.multi_paste(known(), in_ids=[[0, 1], [2], [1, 1]], output_size=[2, 2])
    assert pasted.source_info() == ["a;b", "c", "b;b"]
    both = fn.multi_paste(known(), unknown(), output_size=[2, 2])
    assert both.source_info() == FILES


def test_python_functions_keep_what_is_known_of_their_inputs(tmp_path):
    files = []
    for name in FILES:
        np.save(tmp_path / name, np.zeros(2))
        files.append(f"{name}.npy")
    with Pipeline(3, 1, None) as pipe:
        arrays = fn.readers.numpy(file_root=str(tmp_path), files=files)
        pipe.set_outputs(fn.python_function(arrays, function=lambda array: array + 1))
    assert pipe.run()[0].source_info() == files


def test_the_origin_of_a_sample_is_a_property_of_it():
    for data, wanted in ((known(), FILES), (unknown(), ["", "", ""]), (known(), FILES)):
        texts = fn.get_property(data, key="source_info")
        assert [bytes(text.tolist()).decode() for text in texts] == wanted
