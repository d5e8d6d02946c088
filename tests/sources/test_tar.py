"""Tar archives: what `tarfile` and GNU tar write is read as `tarfile` reads it, in linear time."""

import io
import os
import subprocess
import tarfile

import numpy as np
import pytest
from processor_time import MILLION, at_most_steps

import videoloader as vl
from videoloader.dali.readers.records.archive_samples import read_archive
from videoloader.indexing.dataset.listing import find_items
from videoloader.sources.opening import open_source
from videoloader.sources.tar import Member, read_members

LAYOUTS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def members_of(path):
    with open_source(path) as source:
        return list(read_members(source))


def by_tarfile(path):
    with tarfile.open(path, "r:") as tar:
        return [
            Member(each.name, each.offset_data, each.size, each.issparse())
            for each in tar
            if each.isreg()
        ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_members_are_those_of_tarfile(layout, tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=LAYOUTS[layout]) as tar:
        for number, size in enumerate([0, 1, 511, 512, 513, 5000]):
            kinds = ["short.txt", "folder/" * 20 + "x.mp4", "name\udcff.bin"]
            kinds += [] if layout == "ustar" else ["n" * 300, "é" * 90 + ".mp4"]
            for kind in kinds:
                info = tarfile.TarInfo(f"{number}{kind}")
                info.size, info.mtime = size, 1.5  # a fraction makes a pax header
                tar.addfile(info, io.BytesIO(b"x" * size))
        for name, kind in [("d", tarfile.DIRTYPE), ("l", tarfile.SYMTYPE), ("h", tarfile.LNKTYPE)]:
            info = tarfile.TarInfo(name * (50 if layout == "ustar" else 200))
            info.type, info.linkname = kind, "e" * (50 if layout == "ustar" else 200)
            tar.addfile(info)
        tar.addfile(tarfile.TarInfo("last"))
    found = members_of(path)
    assert len(found) > 18
    assert found == by_tarfile(path)


@pytest.mark.parametrize("layout", ["v7", "oldgnu", "gnu", "ustar", "posix"])
def test_members_of_gnu_tar_are_those_of_tarfile(layout, tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(5):
        (tmp_path / "in" / f"{number}.bin").write_bytes(bytes(number * 300))
    with open(tmp_path / "in" / "holes.bin", "wb") as file:
        for number in range(60):  # more than a header has room for
            file.seek(number * 100_000)
            file.write(b"data")
    sparse = ["-S"] if layout in ("gnu", "oldgnu", "posix") else []
    path = tmp_path / "a.tar"
    command = ["tar", *sparse, f"--format={layout}", "-C", tmp_path, "-cf", path, "in"]
    subprocess.run(command, check=True)
    plain = [each for each in members_of(path) if not each.is_sparse]
    assert plain == [each for each in by_tarfile(path) if not each.is_sparse]
    assert len(members_of(path)) == 6
    assert len(plain) == (5 if sparse else 6)


def test_a_size_in_binary_and_in_a_pax_header(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        info = tarfile.TarInfo("big")
        info.size = 9 << 30  # does not fit its octal digits
        tar.addfile(info)
    os.truncate(path, 512 + (9 << 30))
    assert members_of(path) == [Member("big", 512, 9 << 30, is_sparse=False)]


def header(name, size, kind=b"0"):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.USTAR_FORMAT)


def padded(data):
    return data + bytes(-len(data) % 512)


def pax(data, kind=b"x"):
    return header("p", len(data), kind) + padded(data)


def binary(name, size):
    """A header whose size is binary: in 11 bytes."""
    block = bytearray(header(name, 0))
    block[124:136] = b"\x80" + size.to_bytes(11, "big")
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def record(key, value):
    """A record of a pax header, which begins with its own length."""
    text = b" %s=%s\n" % (key, value)
    size = next(n for n in range(len(text), len(text) + 30) if n == len(text) + len(str(n)))
    return b"%d%s" % (size, text)


BEYOND = {
    "a size of 2^63": binary("a.mp4", 2**63),
    "a size of 2^88 - 1": binary("a.mp4", 2**88 - 1),
    "a size of 8 GB": header("a.mp4", 8**11 - 1),
    "a pax size of 10^19": pax(record(b"size", b"9" * 19)) + header("a.mp4", 0),
    "a pax size of 10^20": pax(record(b"size", b"9" * 20)) + header("a.mp4", 0),
    "one byte more than there is": header("a.mp4", 512 * 4 + 1),
}


@pytest.mark.parametrize("name", BEYOND)
def test_no_member_extends_past_the_archive(name, tmp_path):
    path = tmp_path / "a.tar"
    before = header("first.mp4", 3) + padded(b"abc")
    path.write_bytes(before + BEYOND[name] + padded(b"content") + END)
    with open_source(path) as source:
        members = read_members(source)
        assert next(members).name == "first.mp4"
        with pytest.raises(ValueError, match="ends at byte"):
            next(members)


def test_a_name_is_no_longer_than_a_path(tmp_path):
    path = tmp_path / "a.tar"
    for size, is_good in [(1 << 14, True), ((1 << 14) + 1, False)]:
        name = b"n" * size
        for head in (
            header("L", size + 1, b"L") + padded(name + b"\0"),
            pax(record(b"path", name)),
        ):
            path.write_bytes(head + header("a.txt", 0) + END)
            if is_good:
                assert members_of(path)[0].name == name.decode()
            else:
                with pytest.raises(ValueError, match="a name of 16385 bytes"):
                    members_of(path)


END = header("a.txt", 0) + bytes(1024)
HOSTILE = {
    "digits of a length": lambda: pax(b"1" * 1_000_000),
    "lengths without an end": lambda: pax(b"1234567 " * 100_000),
    "records that overlap": lambda: pax(b"5 x=\n" * 190_000),
    "sparse maps": lambda: pax(b"22 GNU.sparse.offset=1\n" * 40_000),
    "a chain of pax headers": lambda: pax(b"5 x=\n") * 20_000,
    "a chain of long names": lambda: (header("L", 4, b"L") + padded(b"abc")) * 20_000,
    "global headers": lambda: (
        pax(b"".join(b"12 k%06d=\n" % n for n in range(40_000)), b"g")
        + (pax(b"5 x=\n") + header("a.txt", 0)) * 2_000
    ),
    "a long name of 8 GB": lambda: header("L", 8**11 - 1, b"L"),
    "a pax header of 8 GB": lambda: header("x", 8**11 - 1, b"x"),
    "empty members": lambda: b"".join(header(f"{n}.txt", 0) for n in range(20_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_takes_linear_time(name, tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(HOSTILE[name]() + END)
    with at_most_steps(800 * MILLION):
        try:
            assert len(members_of(path)) >= 1
        except ValueError as error:
            assert "byte" in str(error)


def test_samples_of_many_empty_members_are_found_in_linear_time(tmp_path):
    path = tmp_path / "a.tar"
    data = b"".join(header(f"{n}.mp4", 0) for n in range(20_000))
    path.write_bytes(data + END)
    with at_most_steps(1200 * MILLION):
        assert len(read_archive(str(path))) == 20_001
        assert len(find_items(path)) == 20_000


def test_a_damaged_header_names_the_archive_and_the_place(tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(header("a.txt", 3) + padded(b"abc") + pax(b"9 path=") + END)
    with pytest.raises(
        vl.errors.FormatError, match=r"a\.tar: .*\(no record of a pax header at byte 1536"
    ):
        read_archive(str(path))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_mutated_archives_are_read_as_tarfile_does_or_refused(layout, tmp_path):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=LAYOUTS[layout]) as tar:
        for name in ["a", "b" * 90, "c/" * 60 + "c", "d"]:
            info = tarfile.TarInfo(name)
            info.size = 700
            tar.addfile(info, io.BytesIO(b"x" * 700))
    data = data.getvalue()
    rng = np.random.default_rng(LAYOUTS[layout])
    path, same = tmp_path / "a.tar", 0
    for _ in range(300):
        wrong = bytearray(data)
        at = int(rng.integers(len(data) // 512)) * 512
        wrong[at + int(rng.integers(512))] = int(rng.choice([*b"0179xSLg", 0x80, 0xFF]))
        if any(wrong[at : at + 512]):
            total = sum(wrong[at : at + 148]) + 256 + sum(wrong[at + 156 : at + 512])
            wrong[at + 148 : at + 156] = b"%06o\0 " % total
        path.write_bytes(wrong)
        try:
            own = members_of(path)
        except ValueError:
            continue
        try:
            other = by_tarfile(path)
        except (tarfile.TarError, ValueError, OverflowError):
            continue
        plain = [each for each in own if not each.is_sparse]
        same += plain == [each for each in other if not each.is_sparse]
    assert same > 100
