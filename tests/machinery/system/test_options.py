"""Options are declared once: names, defaults, documentation and the error for others agree."""

import inspect
import typing
from dataclasses import dataclass
from typing import TypedDict, Unpack

import pytest

import videoloader as vl
from videoloader.decoding.options import BatchOptions, FrameOptions, SampleOptions
from videoloader.decoding.output import OutputFormat
from videoloader.machinery.system.options import documented, from_options, takes_options

TAKING = [
    vl.Video.__init__,
    vl.Video.iterate,
    vl.Video.get_frames,
    vl.Video.get_frames_at_times,
    vl.decode_batch,
    vl.BatchDecoder.decode,
    vl.ClipDataset.__init__,
    vl.EpochSampler.__init__,
    vl.Loader.__init__,
]


class Sides(TypedDict, total=False):
    """Sides.

    Attributes:
        height: in pixels,
            at least 1.
        width: in pixels.
    """

    height: int
    width: int


@documented(Sides)
class Box(Sides, total=False):
    """A box.

    Attributes:
        depth: in pixels.
    """

    depth: int


@documented(Box)
@dataclass(frozen=True)
class Size:
    """A size."""

    height: int = 1
    width: int = 2


@takes_options(Box, Size, depth=3, width=4)
def volume(times: int, **options: Unpack[Box]) -> tuple[Size, int]:
    """The volume.

    Args:
        times: how often.
        **options: of the box.

    Raises:
        ValueError: never.
    """
    return from_options(Size, options), times * options["depth"]


def test_options_that_are_not_given_have_their_defaults():
    assert volume(1) == (Size(1, 4), 3)
    assert volume(1, height=7) == (Size(7, 4), 3)
    assert volume(times=2, depth=5, width=6) == (Size(1, 6), 10)


def test_a_part_has_further_fields():
    assert from_options(Size, {"height": 5, "width": 6, "depth": 7}, width=8) == Size(5, 8)


def test_the_signature_has_the_options_and_their_defaults():
    found = str(inspect.signature(volume))
    assert found.startswith("(times: int, *, height: int = 1, width: int = 4, depth: int = 3) -> ")


def test_docstrings_say_what_the_option_does():
    entries = "    height: in pixels,\n        at least 1.\n    width: in pixels.\n"
    depth = "    depth: in pixels.\n"
    assert inspect.cleandoc(Box.__doc__) == f"A box.\n\nAttributes:\n{depth}{entries}".rstrip()
    assert inspect.cleandoc(Size.__doc__) == f"A size.\n\nArgs:\n{entries}".rstrip()
    assert volume.__doc__ == (
        f"The volume.\n\nArgs:\n    times: how often.\n{entries}{depth}\nRaises:\n"
        "    ValueError: never.\n"
    )


def test_other_keywords_are_the_error_that_python_gives_with_the_nearest_name():
    unknown = r"^volume\(\) got an unexpected keyword argument "
    with pytest.raises(TypeError, match=unknown + r"'hight'; did you mean height\?$"):
        volume(1, hight=2)
    with pytest.raises(TypeError, match=unknown + r"'colour'$"):
        volume(1, colour=2)
    with pytest.raises(TypeError, match=r"^volume\(\) missing 1 required positional argument"):
        volume()
    with pytest.raises(TypeError, match=r"multiple values for argument 'times'"):
        volume(1, times=1)


@pytest.mark.parametrize("function", TAKING, ids=lambda each: each.__qualname__)
def test_type_checkers_read_the_options_that_are_taken(function):
    inner = inspect.unwrap(function)
    (options,) = typing.get_args(eval(inner.__annotations__["options"], inner.__globals__))
    own = inspect.signature(inner).parameters.keys() - {"options"}
    assert inspect.signature(function).parameters.keys() == own | options.__annotations__.keys()


@pytest.mark.parametrize("function", TAKING, ids=lambda each: each.__qualname__)
def test_every_parameter_is_documented_once(function):
    place = function
    if function.__name__ == "__init__":
        place = getattr(vl, function.__qualname__.partition(".")[0])
    for name in inspect.signature(place).parameters:
        if name != "self":
            arguments = place.__doc__.partition("\nAttributes:")[0]
            assert arguments.count(f"\n    {name}: ") == 1, name
    assert "**options" not in place.__doc__


@pytest.mark.parametrize("function", TAKING, ids=lambda each: each.__qualname__)
def test_each_refuses_a_keyword_by_its_name(function):
    hint = "(; did you mean size\\?)?"  # not all take size
    with pytest.raises(
        TypeError, match=rf"^{function.__qualname__}\(\) got .* argument 'sise'{hint}$"
    ):
        function(sise=224)


@pytest.mark.parametrize("value", [BatchOptions, FrameOptions, SampleOptions, OutputFormat])
def test_values_document_each_of_their_fields(value):
    for name in value.__annotations__:
        assert f"    {name}: " in value.__doc__, name
