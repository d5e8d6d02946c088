"""Records as TensorFlow, MXNet, Caffe and Caffe2 write them, made by hand."""

import struct


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number, value):
    """A field of a protobuf message: bytes, text, an integer, or a float."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def example(**features):
    """A `tf.train.Example`: bytes, a list of ints or of floats for each name."""
    message = b""
    for name, value in features.items():
        if isinstance(value, bytes):
            stored = field(1, field(1, value))
        elif value and isinstance(value[0], float):
            stored = field(2, field(1, struct.pack(f"<{len(value)}f", *value)))
        else:
            stored = field(3, field(1, b"".join(map(varint, value))))
        message += field(1, field(1, name) + field(2, stored))
    return field(1, message)


def write_tfrecord(path, records):
    """A file of records; gives its index as text."""
    index = ""
    with open(path, "wb") as file:
        for record in records:
            start = file.tell()
            file.write(struct.pack("<QI", len(record), 0) + record + bytes(4))
            index += f"{start} {file.tell() - start}\n"
    return index


def recordio(label, data, parts=1):
    """A RecordIO record of MXNet with one label or a list, cut into parts."""
    several = isinstance(label, list)
    head = struct.pack("<IfQQ", len(label) if several else 0, 0.0 if several else label, 1, 0)
    data = head + (struct.pack(f"<{len(label)}f", *label) if several else b"") + data
    size = -(-len(data) // parts)
    out = b""
    for at in range(parts):
        piece = data[at * size : (at + 1) * size]
        kind = 0 if parts == 1 else 1 if at == 0 else 3 if at == parts - 1 else 2
        out += struct.pack("<II", 0xCED7230A, kind << 29 | len(piece)) + piece
        out += bytes(-len(piece) % 4)
    return out
