"""The program on the page for users of DALI."""

import re
from pathlib import Path

import torch
from pets import LABELS, number_of

PAGE = Path(__file__).parents[3] / "docs" / "dali" / "from-dali.md"


def test_the_program_of_the_page_runs_to_its_end(pets, decoder_device):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert program.count('"my_images/"') == program.count('"mixed"') == 1
    program = program.replace("my_images/", str(pets)).replace("mixed", decoder_device)
    names = {}
    with_end = program + "\ntrain_data._pipelines[0].close()\n"
    exec(compile(with_end, str(PAGE), "exec"), names)
    x, y = names["x"].cpu(), names["y"]
    assert (x.shape, x.dtype) == ((16, 3, 224, 224), torch.float32)
    assert (y.shape, y.dtype) == ((16, 1), torch.int32)
    green = x.permute(0, 2, 3, 1).numpy() * 0.224 * 255 + 0.456 * 255
    assert [LABELS[number_of(image)] for image in green] == y[:, 0].tolist()
