"""Writes lmdb_file.npz: a database of two levels with small and large values, as LMDB stores it.

Run it with a Python that has the package lmdb: `python tests/dali/references/lmdb_file.py`.
"""

import tempfile
from pathlib import Path

import lmdb
import numpy as np


def value(number):
    """The value of a key: of 0 to 6,000 bytes, so that some have pages of their own."""
    return bytes([number % 251]) * (number * 37 % 400 if number % 17 else number * 29 % 6000)


def main():
    with tempfile.TemporaryDirectory() as folder:
        with lmdb.open(folder, map_size=1 << 24) as store:
            for start in range(0, 150, 50):  # three transactions: both meta pages are in use
                with store.begin(write=True) as transaction:
                    for number in range(start, start + 50):
                        transaction.put(b"%064d" % (number * 7919 % 150), value(number))
        data = (Path(folder) / "data.mdb").read_bytes()
    place = Path(__file__).with_suffix(".npz")
    np.savez_compressed(place, data=np.frombuffer(data, np.uint8))


if __name__ == "__main__":
    main()
