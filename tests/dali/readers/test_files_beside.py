import io
import tarfile

import pytest
from object_server import serve

import videoloader as vl
from videoloader.indexing.dataset import find_items
from videoloader.training.labels.files_beside import read_beside


def archive(members):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return data.getvalue()


def clips(count, size=60_000):
    for number in range(count):
        yield f"a/{number:03}.json", b'{"number": %d}' % number
        yield f"a/{number:03}.mp4", bytes(size)
        yield f"a/{number:03}.en.txt", f"{number} – ja".encode()  # noqa: RUF001
        yield f"a/{number:03}.txt", b"caption %d" % number


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "set.tar"
    path.write_bytes(archive(clips(5)))
    return find_items(path)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("has_before", [False, True])
def test_files_of_a_clip_are_found_before_and_behind_it(items, number, has_before):
    before = items[number - 1] if has_before and number else None
    found = read_beside(items[number], [".txt", ".json", ".en.txt", ".mp4"], before)
    assert found[".txt"] == f"caption {number}"
    assert found[".json"] == {"number": number}
    assert found[".en.txt"] == f"{number} – ja"  # noqa: RUF001
    assert found[".mp4"] == bytes(60_000)


def test_clips_may_be_listed_in_any_order(items):
    for number in range(4):
        found = read_beside(items[number], [".json", ".txt"], items[number + 1])
        assert found == {".json": {"number": number}, ".txt": f"caption {number}"}


def test_what_is_not_there_is_told_by_name(items):
    with pytest.raises(vl.errors.SourceError, match=r"set\.tar/a/003\.mp4: no file .* \.cls"):
        read_beside(items[3], [".txt", ".cls"], items[2])


def test_the_files_of_another_clip_are_never_taken(tmp_path):
    members = [*clips(2)][:-1]
    path = tmp_path / "set.tar"
    path.write_bytes(archive([*members, ("a/002.txt", b"of another")]))
    item = find_items(path)[1]
    with pytest.raises(vl.errors.SourceError, match="no file"):
        read_beside(item, [".txt"], None)


def test_only_what_is_near_the_clip_is_fetched():
    with serve(objects={"/set.tar": archive(clips(40))}) as server:
        items = find_items(f"{server.url}/set.tar")
        server.forget()
        assert read_beside(items[30], [".txt", ".json"], items[29])[".txt"] == "caption 30"
        assert server.sent < 60_000
        assert len(server.requests) < 8


@pytest.mark.parametrize(
    ("ending", "content"), [(".txt", b"\xff\xfe"), (".json", b"{"), (".json", b"[" * 100_000)]
)
def test_files_that_are_not_what_their_ending_says_are_told(tmp_path, ending, content):
    path = tmp_path / "set.tar"
    path.write_bytes(archive([("1.mp4", b"video"), (f"1{ending}", content)]))
    (item,) = find_items(path)
    with pytest.raises(vl.errors.FormatError, match=rf"1\.mp4: its \{ending} cannot be read"):
        read_beside(item, [ending], None)


def test_a_damaged_archive_is_told(tmp_path, items):
    path = tmp_path / "set.tar"
    data = bytearray(path.read_bytes())
    place = items[2].offset - 512
    data[place : place + 512] = bytes(range(256)) * 2
    path.write_bytes(data)
    with pytest.raises(vl.VideoError, match=r"set\.tar"):
        read_beside(items[2], [".txt"], items[1])


def test_files_beside_a_url_are_fetched():
    with serve(objects={"/a.v1.mp4": b"video", "/a.txt": b"text"}) as server:
        assert read_beside(find_items(f"{server.url}/a.v1.mp4")[0], [".txt"], None) == {
            ".txt": "text"
        }
