"""Writes names.json: the public names of DALI 2.4's modules, and the members of its classes.

    python tests/dali/references/names.py   # nvidia-dali-cuda130==2.4.0 and torch

Operators are in docs/dali/dali_operators.json. What a module imports from elsewhere is left out.
"""

import importlib
import inspect
import json
from pathlib import Path

MODULES = (
    "auto_aug.augmentations",
    "auto_aug.auto_augment",
    "auto_aug.core",
    "auto_aug.rand_augment",
    "auto_aug.trivial_augment",
    "data_node",
    "experimental.dynamic",
    "experimental.dynamic.math",
    "experimental.dynamic.random",
    "math",
    "pipeline",
    "plugin.base_iterator",
    "plugin.pytorch",
    "plugin.pytorch.experimental.proxy",
    "tensors",
    "tfrecord",
    "types",
)


def is_own(value):
    module = getattr(value, "__module__", None) or type(value).__module__
    return not inspect.ismodule(value) and module.startswith(("nvidia.dali", "builtins"))


def public(owner):
    return sorted(name for name in dir(owner) if not name.startswith("_"))


def described(module):
    values = {name: getattr(module, name) for name in public(module)}
    return {
        name: public(value) if inspect.isclass(value) else []
        for name, value in values.items()
        if is_own(value)
    }


names = {each: described(importlib.import_module(f"nvidia.dali.{each}")) for each in MODULES}
names[""] = {
    name: []
    for name in public(importlib.import_module("nvidia.dali"))
    if is_own(getattr(importlib.import_module("nvidia.dali"), name))
}
lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(names[k])}" for k in sorted(names))
Path(__file__).with_suffix(".json").write_text(f"{{\n{lines}\n}}\n")
