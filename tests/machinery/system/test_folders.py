"""Folders and files in places that other users of the machine may write to."""

import os

import pytest
from shared_folders import give_away, make_shared

from videoloader.errors import SourceError
from videoloader.machinery.system.folders import check_owner, make_own, open_regular


@pytest.fixture
def shared(tmp_path):
    return make_shared(tmp_path / "shared")


def test_a_folder_that_is_made_is_for_its_user_alone(shared):
    old = os.umask(0)
    try:
        make_own(shared / "own")
    finally:
        os.umask(old)
    assert (shared / "own").stat().st_mode & 0o777 == 0o700
    make_own(shared / "own")
    make_own(shared / "own" / "below" / "it")


@pytest.mark.parametrize("below", ["", "below", "below/it"])
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_folder_that_another_user_put_there_is_refused(shared, monkeypatch, kind, below):
    theirs = shared / "theirs"
    if kind == "link":
        (shared.parent / "target").mkdir()
        theirs.symlink_to(shared.parent / "target")
    else:
        theirs.mkdir(mode=0o777)
    give_away(theirs, monkeypatch)
    with pytest.raises(SourceError, match=r"theirs: belongs to another user .* name a folder"):
        make_own(theirs / below)
    with pytest.raises(SourceError, match="theirs"):
        check_owner(theirs / below / "file")


def test_a_link_of_this_user_to_the_folder_of_another_is_refused(shared, monkeypatch):
    (shared / "theirs").mkdir()
    (shared.parent / "link").symlink_to(shared / "theirs")
    give_away(shared / "theirs", monkeypatch)
    with pytest.raises(SourceError, match="theirs"):
        make_own(shared.parent / "link" / "own")


def test_a_file_that_another_user_put_there_is_refused(shared, monkeypatch):
    (shared / "file").touch()
    give_away(shared / "file", monkeypatch)
    with pytest.raises(SourceError, match="file"):
        check_owner(shared / "file")


def test_where_only_some_may_write_the_owner_does_not_matter(tmp_path, monkeypatch):
    team = tmp_path / "team"
    team.mkdir(mode=0o770)
    (team / "clips").mkdir()
    give_away(team / "clips", monkeypatch)
    check_owner(team / "clips")
    check_owner(team / "missing")


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "missing"])
def test_what_is_no_regular_file_is_not_opened(tmp_path, kind):
    path = tmp_path / "entry"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            (tmp_path / "target").touch()
            path.symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="entry"):
        open_regular(path)


def test_a_regular_file_is_opened(tmp_path):
    (tmp_path / "entry").write_bytes(b"content")
    with open_regular(tmp_path / "entry") as file:
        assert file.read() == b"content"
