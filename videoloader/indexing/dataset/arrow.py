"""Makes Arrow arrays of Python values.

`pyarrow.array` imports pandas where that is installed, which takes longer than it takes to index
some hundred videos.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def as_array(values: Sequence[Any] | NDArray[Any], kind: pa.DataType) -> pa.Array:
    """An array of text, bytes, truth values, integers or floats; None is null.

    Raises:
        OverflowError: an integer does not fit the type.
        UnicodeEncodeError: text is not Unicode.

    >>> import pyarrow
    >>> as_array(["a", None], pyarrow.string()).to_pylist()
    ['a', None]
    """
    import pyarrow as pa

    count, mask = len(values), None
    if not isinstance(values, np.ndarray) and None in values:
        mask = _bits([value is not None for value in values])
    if pa.types.is_string(kind) or pa.types.is_large_binary(kind):
        octets = [value.encode() if isinstance(value, str) else value or b"" for value in values]
        ends = np.fromiter(accumulate(map(len, octets), initial=0), np.int64, count + 1)
        if pa.types.is_string(kind):
            if ends[-1] > np.iinfo(np.int32).max:
                raise OverflowError(f"{ends[-1]} bytes of text are too much for a column")
            ends = ends.astype(np.int32)
        return pa.Array.from_buffers(
            kind, count, [mask, pa.py_buffer(ends), pa.py_buffer(b"".join(octets))]
        )
    known = values if mask is None else [value or 0 for value in values]
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(kind, count, [mask, _bits(known)])
    stored = np.asarray(known, str(kind))  # Arrow's names of number types are NumPy's too
    return pa.Array.from_buffers(kind, count, [mask, pa.py_buffer(stored)])


def _bits(values: Sequence[Any] | NDArray[Any]) -> pa.Buffer:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(np.asarray(values, np.bool_), bitorder="little"))
