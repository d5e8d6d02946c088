# Written by `make written`; do not edit.

from videoloader.dali.ops.operator_class import OperatorObject as _OperatorObject

class Read(_OperatorObject): ...
