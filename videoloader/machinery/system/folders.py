"""Folders and files of this user in places where other users may write, such as /tmp.

Where everybody may write, another user can be first to make a folder, or put a link there, and
then read, replace or redirect what this process writes. So what lies in such a place must belong
to this user or to root. Elsewhere the permissions of the folders say who is trusted: a folder that
a group shares is used as it is.
"""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from videoloader.errors import SourceError


def make_own(folder: Path) -> None:
    """Make a folder that only this user may enter, unless it is there.

    Raises:
        SourceError: see `check_owner`; or it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"{folder}: cannot be made ({error.strerror})") from error
    check_owner(folder)


def check_owner(path: Path) -> None:
    """Refuse a path that another user may have put where everybody may write.

    Every part of the path that is there is looked at, links and what they lead to alike.

    Raises:
        SourceError: a part belongs to another user, and its folder may be written by everybody.
    """
    trusted = (0, os.geteuid())
    for place in {Path(os.path.abspath(path)), Path(os.path.realpath(path))}:
        for part in (place, *place.parents):
            try:
                status, above = os.lstat(part), os.stat(part.parent)
            except OSError:  # not there yet, or not to be looked at by this user
                continue
            if above.st_mode & stat.S_IWOTH and status.st_uid not in trusted:
                raise SourceError(
                    f"{part}: belongs to another user ({status.st_uid}), in a folder that every "
                    "user may write to; name a folder of your own"
                )


def open_regular(path: Path) -> BufferedReader:
    """Open a file to read; neither follows a link nor waits for the other end of a pipe.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    raise SourceError(f"{path}: is no regular file")
