"""References read from headers, against made-up streams and the rules of the standards."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from videoloader.codecs.hevc.references import HevcReferences
from videoloader.codecs.hevc.sequence import parse_sequence
from videoloader.sampling import needed_pictures

ORDER_BITS = 4
TRAIL_N, TRAIL_R, RADL_R, RASL_R, IDR = 0, 1, 7, 9, 19


class Bits:
    """Fields of a header, one after the other."""

    def __init__(self):
        self.text = ""

    def u(self, value, count=1):
        self.text += f"{value:0{count}b}" if count else ""
        return self

    def ue(self, *values):
        for value in values:
            code = f"{value + 1:b}"
            self.text += "0" * (len(code) - 1) + code
        return self

    def unit(self, kind, layer=0):
        """A NAL unit with these fields."""
        text = self.text + "1"
        text += "0" * (-len(text) % 8)
        body = int(text, 2).to_bytes(len(text) // 8, "big")
        body = re.sub(rb"\x00\x00(?=[\x00-\x03])", b"\x00\x00\x03", body)
        return bytes([kind << 1, layer + 1]) + body


def sequence(sets=()):
    """A sequence parameter set of 64x64 pictures; `sets` writes the reference picture sets."""
    bits = Bits().u(0, 4).u(0, 3).u(1).u(0, 88).u(0, 8)  # one sub-layer
    bits.ue(0, 1, 64, 64).u(0).ue(0, 0, ORDER_BITS - 4).u(1).ue(4, 0, 0)
    bits.ue(0, 0, 0, 0, 0, 0).u(0).u(0, 2).u(0).ue(len(sets))
    for write in sets:
        write(bits)
    return bits.u(0).u(0, 2).u(0).unit(33)


def setup():
    return Bits().ue(0, 0).u(0).u(0).u(0, 3).unit(34)


def picture(kind, count, kept, layer=0):
    """The first slice of a picture, whose set names the order counts `kept`."""
    bits = Bits().u(1)
    if kind >= 16:
        bits.u(0)
    bits.ue(0, 2)  # parameter set, intra slice
    if kind == IDR:
        return bits.unit(kind, layer)
    bits.u(count % (1 << ORDER_BITS), ORDER_BITS).u(0)
    earlier = sorted((c for c in kept if c < count), reverse=True)
    later = sorted(c for c in kept if c > count)
    bits.ue(len(earlier), len(later))
    for group in (earlier, later):
        last = count
        for c in group:
            bits.ue(abs(c - last) - 1).u(1)
            last = c
    return bits.unit(kind, layer)


def read(units):
    """What each picture of a stream refers to."""
    references = HevcReferences()
    references.learn(sequence())
    references.learn(setup())
    return [references.read([unit])[0].references for unit in units]


@st.composite
def streams(draw):
    """Pictures as (type, order count, counts of those that stay, sub-layer), in decode order."""
    limit = 1 << ORDER_BITS
    pictures = [(IDR, 0, (), 0)]
    held, anchor, used = {0}, 0, {0}
    for _ in range(draw(st.integers(1, 40))):
        count = draw(st.integers(anchor - limit // 2 + 1, anchor + limit // 2))
        if count in used or count < 0:
            continue
        used.add(count)
        near = sorted(c for c in held if abs(c - count) < 16)
        kept = draw(st.lists(st.sampled_from(near), unique=True, max_size=4)) if near else []
        kind = draw(st.sampled_from([TRAIL_R, TRAIL_R, TRAIL_N, RADL_R]))
        layer = draw(st.integers(0, 1))
        pictures.append((kind, count, tuple(kept), layer))
        held = {*kept, count} - ({count} if kind == TRAIL_N else set())
        if kind == TRAIL_R and layer == 0:
            anchor = count
    return pictures


def order_counts(pictures):
    """Order counts that a decoder finds for the pictures it is fed (section 8.3.1)."""
    limit, found, anchor = 1 << ORDER_BITS, [], 0
    for kind, count, _, layer in pictures:
        low, anchor_low = count % limit, anchor % limit
        if kind == IDR:
            total = 0
        elif low < anchor_low and anchor_low - low >= limit // 2:
            total = anchor - anchor_low + limit + low
        elif low > anchor_low and low - anchor_low > limit // 2:
            total = anchor - anchor_low - limit + low
        else:
            total = anchor - anchor_low + low
        found.append(total)
        if layer == 0 and kind in (IDR, TRAIL_R):
            anchor = total
    return found


@given(st.data(), streams())
def test_what_remains_names_no_missing_picture_and_keeps_its_order(data, pictures):
    assert order_counts(pictures) == [count for _, count, _, _ in pictures]
    refers = read([picture(*each) for each in pictures])
    numbers = {count: number for number, (_, count, _, _) in enumerate(pictures)}
    for (_, _, kept, _), found in zip(pictures, refers, strict=True):
        assert {numbers[count] for count in kept} <= set(found)
    wanted = np.array([data.draw(st.booleans()) for _ in pictures])
    wanted[0] = True
    remaining = [pictures[n] for n in np.flatnonzero(needed_pictures(refers, wanted))]
    assert order_counts(remaining) == [count for _, count, _, _ in remaining]
    fed = set()
    for _, count, kept, _ in remaining:
        assert set(kept) <= fed
        fed.add(count)


def test_only_what_a_picture_names_is_taken_for_its_references():
    pictures = [(IDR, 0, ()), (TRAIL_R, 4, (0,)), (TRAIL_R, 2, (0, 4)), (TRAIL_R, 6, (4,))]
    assert read([picture(*each) for each in pictures]) == [(), (0,), (0, 1), (1,)]


def test_a_set_made_of_another_is_the_other_seen_from_elsewhere():
    def first(bits):  # three earlier pictures, one later
        bits.ue(3, 1).ue(0).u(1).ue(1).u(1).ue(2).u(0).ue(3).u(1)

    def second(bits):  # seen two pictures later; the first entry is dropped
        bits.u(1).u(1).ue(1)
        bits.u(0).u(0).u(1).u(1).u(0).u(1).u(1)

    sets = parse_sequence(sequence([first, second])).sets
    assert sets == ((-1, -3, -6, 4), (-2, -5, -8, 2))
