"""The same packets in another container, as FFmpeg writes it."""

import io

import av


def remux_file(source, target, *, opaque=None, **options):
    """Write the packets of the first video of a file into another; options as of `av.open`."""
    with av.open(str(source)) as given, av.open(target, "w", **options) as made:
        stream = made.add_stream_from_template(given.streams.video[0], opaque=opaque)
        for packet in given.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                made.mux(packet)


def remux_bytes(source, container, **options):
    """The bytes of a file with the packets of the first video of another."""
    written = io.BytesIO()
    remux_file(source, written, format=container, options=options)
    return written.getvalue()
