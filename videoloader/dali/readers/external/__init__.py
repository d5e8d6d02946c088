"""Sources that a user writes in Python."""

from __future__ import annotations

from videoloader.dali.readers.external.feeding import FedSource
from videoloader.dali.readers.external.source import ExternalSource, external_source

__all__ = ["ExternalSource", "FedSource", "external_source"]
