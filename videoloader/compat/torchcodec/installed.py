"""The installed torchcodec, for names that this package lacks.

It is imported on the first access to such a name, also after `install()` has taken its place.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

_OURS = __name__.rpartition(".")[0]
_THEIRS = "torchcodec"
_lock = threading.RLock()
_found: list[ModuleType | str] = []  # the package, or why it cannot be imported


def remember() -> None:
    """Keep a package that is already imported, before `install()` replaces it."""
    module = sys.modules.get(_THEIRS)
    if module is not None and module is not sys.modules[_OURS]:
        _found[:] = [module]


def provide_metadata(version: str) -> None:
    """Let `importlib.metadata` know a version of torchcodec where no torchcodec is installed.

    transformers asks for it while it is imported.
    """
    try:
        metadata.version(_THEIRS)
    except metadata.PackageNotFoundError:
        sys.meta_path.append(_MetadataFinder(version))


class _Metadata(metadata.Distribution):
    """Name and version of a package that has no files."""

    def __init__(self, version: str) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {_THEIRS}\nVersion: {version}\n",
            "top_level.txt": f"{_THEIRS}\n",
        }

    def read_text(self, filename: str) -> str | None:
        return self._texts.get(filename)

    def locate_file(self, path: Any) -> Path:
        return Path(__file__).parent / str(path)


class _MetadataFinder(metadata.DistributionFinder):
    """Finds no modules, and the metadata of torchcodec."""

    def __init__(self, version: str) -> None:
        self._version = version

    def find_spec(self, *_: Any) -> None:
        """Leave modules to other finders."""

    def find_distributions(
        self, context: metadata.DistributionFinder.Context | None = None
    ) -> Iterator[_Metadata]:
        if context is None or context.name in (None, _THEIRS):
            yield _Metadata(self._version)


def find_name(name: str, part: str = "") -> Any:
    """Look up a name in the installed torchcodec or in one of its modules.

    Raises:
        AttributeError: it has no such name, is not installed, or does not load.
    """
    full = ".".join(filter(None, (_THEIRS, part, name)))
    if name.startswith("__"):
        raise AttributeError(f"no {full}")
    with _lock:
        if not _found:
            _found.append(_imported())
        package = _found[0]
    if isinstance(package, str):
        raise AttributeError(f"{full} is not part of videoloader, and torchcodec {package}")
    try:
        return getattr(getattr(package, part) if part else package, name)
    except AttributeError as error:
        version = getattr(package, "__version__", "")
        raise AttributeError(
            f"{full} is part of neither videoloader nor the installed torchcodec {version}"
        ) from error


def _imported() -> ModuleType | str:
    """Import the installed torchcodec; returns the reason if that fails.

    Its modules import each other as `torchcodec`, so it has that name during the import.
    """
    ours = {name: module for name, module in sys.modules.items() if _is_in_place(name)}
    for name in ours:
        del sys.modules[name]
    try:
        return importlib.import_module(_THEIRS)
    except ModuleNotFoundError as error:
        if error.name == _THEIRS:
            return "is not installed (pip install torchcodec)"
        return f"does not load: {error}"
    except (ImportError, OSError, RuntimeError) as error:
        return f"does not load: {str(error).strip().partition(chr(10))[0]}"
    finally:
        sys.modules.update(ours)


def _is_in_place(name: str) -> bool:
    """Whether `sys.modules` has a module of this package under torchcodec's name."""
    is_torchcodec = name == _THEIRS or name.startswith(f"{_THEIRS}.")
    return is_torchcodec and sys.modules[name].__name__.startswith(_OURS)
