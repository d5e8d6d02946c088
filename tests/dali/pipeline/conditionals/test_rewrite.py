"""A converted function does with plain values what it did before, at the same lines."""

import asyncio
import functools
import inspect
import linecache
import traceback

import pytest

from videoloader.dali.pipeline.conditionals import converted, do_not_convert
from videoloader.errors import ArgumentError

WORDS = {"zero": 0, "one": 1}
calls = []


def outcome(function, *args):
    """What a call gives, what it raises, and what it did on the way."""
    calls.clear()
    result = error = None
    try:
        result = function(*args)
        result = list(result) if inspect.isgenerator(result) else result
    except Exception as raised:  # noqa: BLE001  (it is compared)
        error = raised
    return result, type(error), str(error), list(calls)


def noted(value):
    calls.append(value)
    return value


def chain(n):
    if n > 2:
        word = "many"
    elif n == 2:
        word = "two"
    else:
        word = "few"
    return word


def early(n):
    if n < 0:
        return "negative"
    if n > 10:
        if n > 100:
            return "huge"
        n = n - 10
    for i in range(n):
        if i == 3:
            return "three"
    return n


def only_in_one_branch(n):
    if n:
        word = "yes"
    return word


def deleted(n):
    word = 1
    if n:
        del word
    return word


def nothing_returned(n):  # noqa: RET503
    if n:
        return 1


def bare_return(n):
    if n:
        return None
    return n


def loops(n):
    total = 0
    for i in range(10):
        if i == n:
            continue
        if i > 2 * n:
            break
        while total < i:
            total += 1
            if total % 7 == n:
                break
        else:
            total += 100
    else:
        total += 1000
    return total


def logic(n):
    return (
        noted(n) and noted("and"),
        noted(n) or noted("or") or noted("last"),
        not n,
        noted("body") if n else noted("else"),
        0 < noted(n) < noted(5) <= 6,
        noted(n) in (1, 2) != (n not in (3,)),
        (n and n + 1) or (not n and "none"),
    )


def walrus(n):
    if (m := n * 2) > 2 and (k := m + 1):
        return m, k
    return [y for x in range(n) if (y := x * 2) or x]


def tried(n):
    try:
        if n:
            result = 1 // (n - 1)
        else:
            raise KeyError("no")
    except ZeroDivisionError as error:
        result = str(error)
    finally:
        if n > 5:
            noted("large")
    with memoryview(b"ab") as view:
        if n:
            return result, len(view)
    return result


def closure(n):
    count = 0

    def up(by=n if n else 7):
        nonlocal count
        if by > 2:
            count += by
        else:
            count -= 1
        return count

    def again(k):
        return again(k - 1) if k else up()

    return up(), again(3), (lambda x: x if n else -x)(3), count


def module_names(n):
    global calls
    if n:
        calls = [*calls, WORDS.get("one")]
    return WORDS["one" if n else "zero"]


def generated(n):
    for i in range(n):
        if i % 2:
            yield i
        else:
            got = yield from (i, i)
            if got:
                yield "never"
    return n


def matched(n):
    match (n, n % 2):
        case (0, _):
            word = "zero"
        case (x, 1) if x > 2 or x < 0:
            word = x
        case _:
            if n:  # noqa: SIM108
                word = "even"
            else:
                word = "never"
    return word


class Box:
    __private = 5

    def __init__(self, item):
        self.item = item

    def __call__(self, other):
        return self.item if self.item > other else other

    @property
    def half(self):
        if self.item:
            return self.item / 2
        return None

    def private(self):
        return self.__private + self.__own() if self.item else self.__private

    def __own(self):
        return 1


class Larger(Box):
    def __init__(self, item):
        if item:
            super().__init__(item + 1)
        else:
            super().__init__(item)

    def private(self):
        return super().private() if self.item else 0


def objects(n):
    box, table = Larger(n), {"key": n, 1: 2}
    if n:
        box.item += 1
        box.new = table["key"] = 4
        table[1] -= 1
    else:
        table["other"] = 1
    return box.item, getattr(box, "new", None), table, box.half, box.private(), box(2)


def imported(n):
    if n:
        import math as number
        from os import path

        def inner():
            return path.basename("a/b")

        class Inner:
            value = number.pi if n else 0

            def method(self):
                return self.value if n else None

        return inner(), Inner().method()
    return [a for a, *rest in ((1, 2),) if rest or n]


def partial(n):
    return functools.partial(chain)(n), functools.partial(Larger.private, Larger(n))()


def recursive(n):
    return n if n < 2 else recursive(n - 1) + recursive(n - 2)


def with_frames(n):
    inside = locals() if n else {}
    return sorted(inside), eval("n + 1") if n else 0


def defaults(n, /, a=2, *args, b=3, **keywords):
    return (n, a, b, args, keywords) if n else a


def pairs(n):
    if n > 1:
        a, (b, *c) = 1, [2, 3, n]
    else:
        a = b = c = 0
    return a, b, c


PLAIN = [
    chain,
    early,
    only_in_one_branch,
    deleted,
    nothing_returned,
    bare_return,
    loops,
    logic,
    walrus,
    tried,
    closure,
    generated,
    matched,
    objects,
    imported,
    partial,
    recursive,
    defaults,
    pairs,
    lambda n: n + 1 if n else (lambda m: m or "none")(n),
]


@pytest.mark.parametrize("function", PLAIN, ids=lambda function: function.__name__)
@pytest.mark.parametrize("n", [-1, 0, 1, 2, 3, 5, 12, 200])
def test_plain_values_give_what_they_gave(function, n):
    if function is recursive:
        n = min(n, 12)
    expected = outcome(function, n)
    assert outcome(converted(function), n) == expected


def test_globals_stay_those_of_the_module():
    assert [converted(module_names)(n) for n in (0, 1)] == [0, 1]


def test_functions_that_look_at_their_frame_still_do():
    assert converted(with_frames)(1)[1] == 2
    assert "n" in converted(with_frames)(1)[0]


def test_defaults_keywords_and_names_are_kept():
    new = converted(defaults)
    assert new(1, 5, 6, b=7, c=8) == (1, 5, 7, (6,), {"c": 8})
    assert (new.__name__, new.__qualname__) == ("defaults", "defaults")
    assert inspect.signature(new) == inspect.signature(defaults)

    def outer():
        def inner():
            pass

        return inner

    assert converted(outer)().__qualname__ == outer().__qualname__


def test_bound_methods_and_callable_objects_are_converted():
    assert converted(Larger(3).private)() == 6
    assert converted(Box(3))(2) == 3


def test_coroutines_run():
    async def waits(n):
        if n:
            await asyncio.sleep(0)
            return [x async for x in numbers(n) if x]
        return n

    async def numbers(n):
        for i in range(n):
            yield i or n

    assert asyncio.run(converted(waits)(3)) == [3, 1, 2]


def test_lambdas_on_one_line_are_told_apart():
    first, second = (lambda n: 1 if n else 2), (lambda n: 3 if n else 4)
    assert [converted(f)(n) for f in (first, second) for n in (0, 1)] == [2, 1, 4, 3]


def failing(n):
    if n:
        word = "a"
        return helper(word) and not word
    return n


def helper(word):
    return (
        word + 1  # the line of the error is that of the sum
    )


def test_tracebacks_have_the_lines_of_the_source():
    def lines(function):
        with pytest.raises(TypeError) as caught:
            function(1)
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(f.name, f.lineno, f.line) for f in frames if f.filename == __file__][1:]

    expected = lines(failing)
    assert [name for name, *_ in expected] == ["failing", "helper"]
    assert lines(converted(failing)) == expected


def test_a_function_without_source_is_refused_by_name():
    names = {}
    exec("def hidden(n):\n    return n", names)
    with pytest.raises(ArgumentError, match=r"the source of hidden .* is not available"):
        converted(names["hidden"])


def test_a_function_whose_file_has_changed_is_refused(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def first(n):\n    return n\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    path.write_text("x = 1\n\n\ndef first(n):\n    return n\n")
    linecache.checkcache(str(path))
    with pytest.raises(ArgumentError, match="has changed since it was loaded"):
        converted(names["first"])


def test_functions_of_the_user_are_converted_and_others_are_not():
    @do_not_convert
    def left(function):
        return function()

    def is_converted():
        return "_vl" in inspect.currentframe().f_code.co_freevars

    def asks():
        here = is_converted()
        return here, left(is_converted), list(map(bool, [is_converted()]))

    assert not is_converted()
    assert converted(asks)() == (True, False, [True])
