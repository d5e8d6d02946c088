"""Data that goes from the CPU to the GPU and back inside one pipeline: `exec_dynamic`."""

import numpy as np
from pets import number_of, pet

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.tensors import TensorListCPU, TensorListGPU


@pipeline_def(batch_size=4, num_threads=2, device_id=0, exec_dynamic=True)
def there_and_back(folder, device):
    jpegs, _ = fn.readers.file(file_root=folder)
    images = fn.decoders.image(jpegs, device="cpu")
    images = images.gpu() if device == "gpu" else images
    small = fn.resize(images, size=(32, 40))
    brighter = fn.brightness(small.cpu(), brightness=1.5)  # an operator on the CPU again
    dark = brighter < 128  # and an expression
    again = brighter.gpu() if device == "gpu" else brighter
    return small, brighter, dark, fn.cast(again, dtype=types.FLOAT)


def test_every_output_is_where_its_operator_ran(pets, device):
    with there_and_back(pets, device) as pipe:
        assert pipe.exec_dynamic
        outputs = pipe.run()
    behind = {"cpu": TensorListCPU, "gpu": TensorListGPU}[device]
    for output, kind in zip(outputs, (behind, TensorListCPU, TensorListCPU, behind), strict=True):
        assert isinstance(output, kind)
    small, brighter, dark, floats = (output.as_cpu().as_array() for output in outputs)
    assert [number_of(image) for image in small] == [0, 1, 2, 3]
    expected = np.clip(np.floor(small.astype(np.float64) * 1.5 + 0.5), 0, 255)
    assert np.array_equal(brighter, expected)
    assert np.array_equal(dark, brighter < 128)
    assert np.array_equal(floats, brighter)
    assert floats.dtype == np.float32
    assert small.shape == (4, 32, 40, pet(0).shape[-1])
