"""Writes fits.json: what DALI's `fn.experimental.readers.fits` reads of the cases of `fits_files`.

Run it with DALI installed, also where there is no GPU::

    DALI_RESTRICT_PINNED_MEM=1 PYTHONPATH=tests:tests/dali python tests/dali/references/fits.py
"""

import json
import tempfile
from pathlib import Path

from fits_files import SCALED, scaled
from nvidia.dali import fn, pipeline_def


def read(data):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.fits").write_bytes(data)

        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def graph():
            return fn.experimental.readers.fits(file_root=folder)

        pipe = graph()
        pipe.build()
        (array,) = pipe.run()
        return array.at(0)


results = [(read(scaled(*case)).dtype.name, read(scaled(*case)).tolist()) for case in SCALED]
Path(__file__).with_suffix(".json").write_text(json.dumps(results) + "\n")
