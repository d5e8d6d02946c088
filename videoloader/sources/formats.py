"""Formats that libav may open: all whose files refer to no others.

Playlists, session descriptions and scripts name other files, addresses or devices, and libav
would open these too. So libav gets a whitelist of formats and protocols, and refuses everything
else before it reads a header.
"""

from __future__ import annotations

import re

from videoloader.errors import FormatError, UnsupportedError

# FFmpeg's names of demuxers that read only the file they are given. Demuxers of later FFmpeg
# versions have to be added here. Excluded although they hold video: `mlv`, which continues in
# further files (.M00, .M01), and `svg_pipe`, since SVG may name other files.
_VIDEO = """
    4xm alias_pix anm apng apv argo_brp asf asf_o av1 avi avs avs2 avs3 bethsoftvid bfi bink bmv
    brender_pix c93 cavsvideo cdg cdxl cine dfa dhav dirac dnxhd dsicin dv dxa ea evc film_cpk
    filmstrip fits flic flv frm gdv gif gxf h261 h263 h264 hevc hnm hxvs ico idcin iff ifv ingenient
    ipmovie ipu iv8 ivf ivr jpegxl_anim jv kux live_flv lmlm4 luodat lvf lxf m4v matroska mgsts
    mjpeg mjpeg_2000 mm mods moflex mov mpeg mpegts mpegvideo mpjpeg msnwctcp msp mtv mv mvi mxf mxg
    nc nsv nut nuv obu ogg paf pdv pmp psxstr pva r3d rl2 rm roq rpl ser sga siff simbiosis_imx
    smjpeg smk smush swf thp tiertexseq tmv txd ty usm vc1 vc1test vividas vivo vmd vvc wc3movie
    webm wsvqa wtv xmv yop yuv4mpegpipe
""".split()  # noqa: SIM905

_PICTURES = """
    bmp cri dds dpx exr gem gif hdr j2k jpeg jpegls jpegxl jpegxs pam pbm pcx pfm pgm pgmyuv pgx phm
    photocd pictor png ppm psd qdraw qoi sgi sunrast tiff vbn webp xbm xpm xwd
""".split()  # noqa: SIM905

# Sound files may have a cover picture; without one, the error says that there is no video stream.
_SOUND = """
    aa aac ac3 ac4 aiff amr amrnb amrwb ape au caf dsf dts dtshd eac3 flac iamf loas mlp mp3 mpc
    mpc8 oma qcp sox spdif tak truehd tta voc w64 wav wv
""".split()  # noqa: SIM905

CONFINED = {
    "format_whitelist": ",".join([*_VIDEO, *[f"{name}_pipe" for name in _PICTURES], *_SOUND]),
    "protocol_whitelist": "",  # PyAV reads from a file object, which needs no protocol
}
"""Options that keep libav from opening anything except the given file object."""

HEAD = 1 << 14
"""Bytes at the beginning of a file that `refuse_references` and `is_text` examine."""

_REFERRING = [
    (re.compile(rule, re.MULTILINE), name)
    for rule, name in [
        (rb"\A#EXTM3U", "an HLS playlist (m3u8)"),
        (rb"\Affconcat version ", "an ffconcat script"),
        (rb"\A# VobSub index file", "a VobSub index (idx)"),
        (rb"\AMLVI", "a Magic Lantern recording (mlv)"),
        (rb"^c=IN IP", "a session description (sdp)"),
        (rb"<MPD[\s>]", "a DASH manifest (mpd)"),
        (rb"<SmoothStreamingMedia[\s>]", "a Smooth Streaming manifest (ism)"),
        (rb"<(?:\w+:)?CompositionPlaylist[\s>]", "an IMF composition playlist"),
        (rb"<(?:\w+:)?svg[\s>]", "an SVG picture"),
    ]
]
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")  # never in text; ESC is allowed


def refuse_references(head: bytes) -> None:
    """Refuse formats that name other files, with a message; `CONFINED` blocks them anyway.

    Raises:
        UnsupportedError: the file is of such a format.

    >>> refuse_references(b"ffconcat version 1.0")
    Traceback (most recent call last):
    ...
    videoloader.errors.UnsupportedError: it is an ffconcat script, ...
    """
    text = head.removeprefix(b"\xef\xbb\xbf").partition(b"\0")[0].lstrip()
    for pattern, name in _REFERRING:
        if pattern.search(text):
            raise UnsupportedError(
                f"it is {name}, a format that names other files or addresses, which are not "
                "opened; pass the video files themselves"
            )


_UNPACK = "unpack it first; uncompressed tar archives are read as they are"
_OTHERS = [
    (0, b"\x1f\x8b", f"a gzip file, such as .tar.gz; {_UNPACK}"),
    (0, b"BZh", f"a bzip2 file; {_UNPACK}"),
    (0, b"\xfd7zXZ\0", f"an xz file; {_UNPACK}"),
    (0, b"\x28\xb5\x2f\xfd", f"a Zstandard file; {_UNPACK}"),
    (0, b"PK\3\4", f"a zip file; {_UNPACK}"),
    (
        0,
        b"PAR1",
        "a Parquet file; a data set index is given to open_dataset, Loader or `videoloader check`",
    ),
    (257, b"ustar", "a tar archive; index_dataset, Loader and ClipDataset take the videos in it"),
]


def refuse_others(head: bytes) -> None:
    """Refuse, by name, files of other kinds that are taken for videos most often.

    Raises:
        FormatError: the file is of such a kind.

    >>> refuse_others(b"PAR1")
    Traceback (most recent call last):
    ...
    videoloader.errors.FormatError: it is no video but a Parquet file; ...
    """
    for place, magic, what in _OTHERS:
        if head.startswith(magic, place):
            raise FormatError(f"it is no video but {what}")


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file are text, terminal escape sequences included."""
    return not _CONTROL.search(head)
