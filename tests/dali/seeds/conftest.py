"""For every program that DALI's users know: images in two classes, and devices."""

import pytest
from pets import write_pets


@pytest.fixture(scope="session")
def pets(tmp_path_factory):
    """A folder with 11 images of dogs and 10 of kittens; not to be written to."""
    folder = tmp_path_factory.mktemp("pets")
    write_pets(folder)
    return folder


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    """Where the operators of a program run."""
    return request.param


@pytest.fixture
def decoder_device(device):
    """The device of a decoder that gives images on `device`."""
    return {"cpu": "cpu", "gpu": "mixed"}[device]


@pytest.fixture(autouse=True)
def _ends_its_threads(no_threads_left):
    """No program leaves threads."""
