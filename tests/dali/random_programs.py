"""Definitions made at random: nested conditions on values, and what stands in branches."""

import itertools
import linecache
import random

_numbers = itertools.count()


def random_program(seed):
    """A function of three numbers, or of their data nodes, that gives three."""
    lines = ["def program(a, b, c):", "    box = {'kept': a}"]
    lines += _block(random.Random(seed), 1, depth=0)
    lines += _end(random.Random(-seed))
    source = "\n".join(lines) + "\n"
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {}
    exec(compile(source, name, "exec"), names)
    return names["program"], source


def _block(draw, indent, depth):
    lines = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(["set", "set", "if", "if", "box", "loop", "local"])
        if kind == "if" and depth < 3:
            lines.append(f"if {_condition(draw)}:")
            lines += _block(draw, 1, depth + 1)
            for word in draw.choice([[], ["else"], ["elif", "else"], ["elif"]]):
                lines.append(f"elif {_condition(draw)}:" if word == "elif" else "else:")
                lines += _block(draw, 1, depth + 1)
        elif kind == "box":
            lines.append(draw.choice([f"box['kept'] = {_value(draw)}", "a, box['kept'] = b, a"]))
        elif kind == "loop":
            lines.append("for step in range(2):")
            lines.append(f"    {draw.choice('abc')} += step")
        elif kind == "local" and depth:
            lines += [f"own = {_value(draw)}", f"{draw.choice('abc')} = own - 1"]
        else:
            lines.append(f"{draw.choice('abc')} = {_value(draw)}")
    return [" " * 4 * indent + line for line in lines]


def _end(draw):
    value = "a, b + box['kept'], c"
    if draw.random() < 0.5:
        return [f"    return {value}"]
    return [
        f"    if {_condition(draw)}:",
        "        return c, a - b, box['kept']",
        f"    elif {_condition(draw)}:",
        f"        return {_value(draw)}, b, c",
        "    c = c + 1",
        f"    return {value}",
    ]


def _value(draw):
    name, other = draw.choice("abc"), draw.choice("abc")
    number = draw.randint(-3, 3)
    return draw.choice(
        [
            name,
            f"{name} + {number}",
            f"{name} - {other}",
            f"-{name}",
            f"{name} if {_condition(draw, 1)} else {other}",
        ]
    )


def _condition(draw, depth=0):
    name, other, number = draw.choice("abc"), draw.choice("abc"), draw.randint(-2, 6)
    kinds = [f"{name} > {number}", f"{name} == {other}", f"{number - 3} <= {name} < {other}"]
    if depth == 0:
        kinds += [name, f"not {name}"]
    if depth < 2:
        left, right = _condition(draw, depth + 1), _condition(draw, depth + 1)
        kinds += [f"({left}) and ({right})", f"({left}) or ({right})", f"not ({left})"]
    return draw.choice(kinds)
