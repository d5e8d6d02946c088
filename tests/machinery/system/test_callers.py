"""Messages and warnings point at the user's program, not at this package."""

from pathlib import Path

import pytest

import videoloader as vl
from videoloader.dali import fn
from videoloader.machinery.system.callers import PACKAGE, frame_of_user


def test_the_package_is_all_of_this_library():
    assert Path(PACKAGE) == Path(vl.__file__).parent


def test_the_frame_of_the_user_is_this_file():
    assert frame_of_user().f_code.co_filename == __file__


def test_an_error_names_the_line_of_the_definition_and_none_of_this_package():
    with vl.dali.Pipeline(batch_size=1, num_threads=1, device_id=None) as pipe:
        pipe.set_outputs(fn.decoders.image(fn.external_source(lambda: [b"no image at all"])))
    with pipe, pytest.raises(vl.errors.OperatorError) as caught:
        pipe.run()
    places = [word for word in str(caught.value).replace("(", " ").split() if ".py:" in word]
    assert {place.partition(":")[0] for place in places} == {Path(__file__).name}
