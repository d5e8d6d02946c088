"""docs/dali/dali-operators.md: what of DALI's operators and arguments is here."""

import re

import pytest
from making import dali_table as table

from videoloader.dali.operators.operator import IGNORED
from videoloader.errors import VideoError

PAGE = table.page()


def test_every_operator_of_dali_is_on_the_page_once():
    named = re.findall(r"^(?:- |\| )`fn\.([\w.]+)`", PAGE, flags=re.MULTILINE)
    assert sorted(named) == sorted(table.dali_operators())
    assert len(named) > 160


@pytest.mark.parametrize("name", table.dali_operators())
def test_what_dali_deprecates_is_deprecated_here(name):
    dali, function = table.dali_operators()[name], table.function(name)
    if function is None:
        return
    if "instead" in dali:
        assert function.instead == f"fn.{dali['instead']}"
    assert bool(function.instead) == ("deprecated" in dali)
    own = {each.name: each.renamed_to for each in function.operator.deprecated}
    assert own.pop("seed", "") == ""
    assert own == dali.get("deprecated_arguments", {})


@pytest.mark.parametrize("name", table.dali_operators())
def test_a_seed_is_deprecated_where_dali_does_not_list_it(name):
    arguments, function = table.dali_operators()[name]["arguments"], table.function(name)
    if function is not None and name != "external_source":
        old = {each.name for each in function.operator.deprecated}
        assert ("seed" in old) == ("seed" not in arguments)


ROWS = [
    line for line in PAGE.partition("## Deprecated")[0].splitlines() if line.startswith("| `fn.")
]


@pytest.mark.parametrize("line", ROWS, ids=lambda line: line.split("`")[1])
def test_a_row_says_which_arguments_can_be_given(line):
    name, arguments, _ = (cell.strip() for cell in line.strip("|").split("|"))
    name = name.strip("`").removeprefix("fn.")
    operator = table.function(name).operator
    listed = re.findall(r"(~~)?`(\w+)`", arguments)
    assert [each for _, each in listed] == list(table.dali_operators()[name]["arguments"])
    for struck, argument in listed:
        if argument in operator.unused:
            assert not struck
            continue
        try:
            operator.argument(argument)
        except VideoError:
            assert struck, argument
        else:
            assert not struck, argument
    ignored = {each for each in IGNORED if not operator.declares(each)}
    assert not {each for _, each in listed} & ignored


def test_differences_name_devices_frames_and_defaults():
    flow = next(line for line in PAGE.splitlines() if line.startswith("| `fn.optical_flow`"))
    assert flow.endswith("| not on: gpu; also on: cpu; [values](differences.md) |")
    operator = table.function("resize").operator
    dali = {
        "devices": ["cpu", "gpu", "mixed"],
        "arguments": {
            "mode": ["'stretch'", "frame"],
            "minibatch_size": ["32", ""],
            "size": [None, ""],
        },
    }
    assert list(table.differences("resize", dali, operator)) == [
        "not on: mixed",
        "no effect: `minibatch_size`",
        "one for all samples: `mode`",
        "`mode` is `default` by default, in DALI `'stretch'`",
        "`size` is `None` by default, in DALI required",
        "[values](differences.md)",
    ]
