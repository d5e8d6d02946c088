# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values
from videoloader.dali.fn.io import file as file
