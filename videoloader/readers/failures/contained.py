"""Clips that operators decode, with what becomes of them if they fail."""

from __future__ import annotations

from dataclasses import replace

from videoloader.readers.failures.failures import Failures
from videoloader.readers.video.planned import Identity, PlannedClip
from videoloader.sources.items import Item

__all__ = ["contained"]


def contained(
    failures: Failures, clip: PlannedClip, identity: Identity, origin: str
) -> PlannedClip:
    """A clip that is left out or masked as a policy says, and noted.

    Args:
        failures: take what goes wrong; with the policy.
        clip: of an operator.
        identity: of its sample.
        origin: the file that the sample comes from, "" if that is not known.
    """
    known = isinstance(clip.source, Item)
    item = clip.source if known else Item(origin or str(clip) or "<encoded video>")
    return replace(clip, failures=failures, item=item, identity=identity, epoch=identity.epoch)
