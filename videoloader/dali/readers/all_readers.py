"""Importing this declares the operators of every module in the folders of readers."""

import importlib
import pkgutil

from videoloader.dali import readers

for _module in pkgutil.walk_packages(readers.__path__, f"{readers.__name__}."):
    importlib.import_module(_module.name)
