"""Sources that a user writes in Python."""

from __future__ import annotations

from videoloader.readers.external.feeding import FedSource
from videoloader.readers.external.source import ExternalSource, external_source

__all__ = ["ExternalSource", "FedSource", "external_source"]
