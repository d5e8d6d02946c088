"""Data set indexes of videos that are not there, written with pyarrow alone."""

import pyarrow as pa
import pyarrow.parquet as pq

from videoloader.indexing.dataset.rows import schema

DEFAULTS = {
    "member": "",
    "offset": 0,
    "size": 1,
    "codec": "h264",
    "container": "mp4",
    "width": 640,
    "height": 360,
    "rotation": 0,
    "num_frames": 100,
    "num_keyframes": 4,
    "duration": 4.0,
    "fps": 25.0,
}


def write_index(path, count, columns, index=b""):
    """Write `count` rows; `columns` gives values by name, an `error` makes a row a failure."""
    wanted = schema()
    names = [f"/nowhere/{row:07}.mp4" for row in range(count)]
    columns = {"key": names, "path": names} | columns
    errors = columns.get("error", [None] * count)
    arrays = []
    for field in wanted:
        if field.name == "index" and "index" not in columns:
            values = [None if error else index for error in errors]
        elif field.name in columns:
            values = columns[field.name]
        else:
            values = pa.repeat(pa.scalar(DEFAULTS.get(field.name), field.type), count)
        arrays.append(values if isinstance(values, pa.Array) else pa.array(values, field.type))
    pq.write_table(pa.table(arrays, schema=wanted), path, row_group_size=4096)
