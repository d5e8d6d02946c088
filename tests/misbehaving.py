"""Videos and images that do in a worker process what a bug in a codec or a user may do."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from videoloader.decoding.images.fields import ImageHeader
from videoloader.sources.items import Item


@dataclass(frozen=True, slots=True)
class Misbehaving(Item):
    """A video that opens as usual in the process that made it, and misbehaves in all others.

    Positional arguments, in the places of `Item`'s: path, what it does, and with what. It does so
    for ever, or, if `marker` is a path, until a file is there, which it makes first.
    """

    marker: str = ""
    home: int = 0

    def __post_init__(self):
        if not self.home:
            object.__setattr__(self, "home", os.getpid())

    @property
    def name(self):
        return self.path

    def open(self, *, known=None):
        if os.getpid() != self.home and not (self.marker and Path(self.marker).exists()):
            if self.marker:
                Path(self.marker).touch()
            self.misbehave()
        return Item(self.path).open(known=known)

    def misbehave(self):
        misbehave(self.member, self.offset)


class MisbehavingHeader(ImageHeader):
    """The header of an image that decodes as usual here, and misbehaves in all other processes."""

    @classmethod
    def of(cls, header, what, value):
        own = cls(header.format, header.height, header.width, header.channels)
        object.__setattr__(own, "wrong", (what, value, os.getpid()))
        return own

    def __reduce__(self):
        return _header, (ImageHeader.__reduce__(self)[1], self.wrong)


def _header(facts, wrong):
    if os.getpid() != wrong[2]:
        return _InWorker(wrong)
    return ImageHeader(*facts)


class _InWorker:
    def __init__(self, wrong):
        self.wrong = wrong

    def __getattr__(self, name):
        misbehave(*object.__getattribute__(self, "wrong")[:2])
        raise AttributeError(name)


def misbehave(what, value):
    """Do it: in this process."""
    if what == "die":
        os.kill(os.getpid(), value)
        time.sleep(60)
    elif what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what == "sleep":
        time.sleep(value)
    elif what == "allocate":
        np.ones(value, np.uint8)
    elif what == "raise":
        raise RAISED[value]
    else:
        raise AssertionError(what)


class InDecoder(Misbehaving):
    """Misbehaves where it is decoded: not in the process that made it, nor in its children."""

    def open(self, *, known=None):
        if os.getppid() == self.home:
            return Item(self.path).open(known=known)
        return super().open(known=known)


class OnlyHereError(TypeError):
    """Does not unpickle."""

    def __init__(self, one, two):
        super().__init__(one)


RAISED = [
    TypeError("a mistake"),
    OSError(5, "Input/output error"),
    MemoryError(),
    KeyError("a table"),
    OnlyHereError(1, 2),
]
