"""`Closing`: objects that a `with` block closes at its end."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self


class Closing:
    """Base class of objects that hold a resource until `close`; works in a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the resource."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
