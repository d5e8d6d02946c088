"""Importing this declares the operators of every module in the folders of readers."""

import importlib
import pkgutil

from videoloader import readers

for _folder in ("external", "files", "records", "video"):
    for _module in pkgutil.iter_modules([f"{readers.__path__[0]}/{_folder}"]):
        importlib.import_module(f"{readers.__name__}.{_folder}.{_module.name}")
