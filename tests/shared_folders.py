"""A folder that every user of the machine may write to, and what another user has put there."""

import os

SOMEBODY = 12345  # a user that is neither root nor the one who runs the tests


def make_shared(folder):
    """A folder such as /tmp."""
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def give_away(path, monkeypatch):
    """Make a file, folder or link that of another user; where that needs root, be another user."""
    if os.geteuid() == 0:
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
