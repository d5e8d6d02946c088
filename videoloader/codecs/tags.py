"""FFmpeg's name of a codec by its tag in each container."""

from __future__ import annotations


def _four(**tags: str) -> dict[bytes, str]:
    """Codecs by FourCCs, which are separated by spaces and padded with them."""
    return {
        tag.ljust(4).encode(): codec for codec, listed in tags.items() for tag in listed.split()
    }


def _numbered(**tags: tuple[int, ...]) -> dict[int, str]:
    """Codecs by numbers."""
    return {tag: codec for codec, listed in tags.items() for tag in listed}


MP4 = _four(
    h264="avc1 avc2 avc3 avc4", hevc="hvc1 hev1 dvh1 dvhe", av1="av01", vp8="vp08", vp9="vp09"
)
"""Sample entries with a configuration record."""

MP4_OLDER = _four(
    mpeg4="mp4v",
    h263="s263 h263",
    mjpeg="jpeg",
    mpeg1video="mpeg m1v",
    prores="apch apcn apcs apco ap4h ap4x",
    mpeg2video="m2v1 mp2v hdv1 hdv2 hdv3 xdv1 xdv2 xdv3 xdvb mx3p",
)
"""Sample entries of codecs whose properties are in the stream itself."""

MP4_OBJECTS = _numbered(
    mpeg4=(0x20,), mpeg2video=(*range(0x60, 0x66),), mpeg1video=(0x6A,), mjpeg=(0x6C,)
)
"""objectTypeIndication of video (ISO/IEC 14496-1, table 5), profiles of MPEG-2 together."""

MP4_SOUND = _four(
    opus="Opus",
    flac="fLaC",
    ac3="ac-3",
    eac3="ec-3",
    alac="alac",
    mp3=".mp3",
    pcm_s16le="sowt lpcm",
    pcm_s16be="twos",
    pcm_mulaw="ulaw",
    pcm_alaw="alaw",
    amr_nb="samr",
    amr_wb="sawb",
    dts="dtsc",
    truehd="mlpa",
)
MP4_SOUND_OBJECTS = _numbered(
    aac=(0x40, 0x66, 0x67, 0x68),
    mp3=(0x69, 0x6B),
    ac3=(0xA5,),
    eac3=(0xA6,),
    dts=(0xA9,),
    opus=(0xAD,),
    vorbis=(0xDD,),
)

MATROSKA = {
    "V_MPEG4/ISO/AVC": "h264",
    "V_MPEGH/ISO/HEVC": "hevc",
    "V_AV1": "av1",
    "V_VP8": "vp8",
    "V_VP9": "vp9",
}
MATROSKA_SOUND = {
    f"A_{name}": name.lower()
    for name in ("AAC", "AC3", "ALAC", "DTS", "EAC3", "FLAC", "OPUS", "TRUEHD", "VORBIS")
} | {"A_MPEG/L2": "mp2", "A_MPEG/L3": "mp3"}

MPEGTS = _numbered(mpeg2video=(1, 2), h264=(0x1B,), hevc=(0x24,))
MPEGTS_SOUND = _numbered(mp2=(3, 4), aac=(0x0F,), aac_latm=(0x11,), ac3=(0x81,), eac3=(0x87,))
MPEGTS_SOUND_NAMES = _four(ac3="AC-3", eac3="EAC3", opus="Opus", s302m="BSSD")
"""Registered names of private streams."""

MPEGTS_SOUND_DESCRIPTORS = _numbered(ac3=(0x6A,), eac3=(0x7A,), dts=(0x7B,), aac=(0x7C,))
"""Descriptors of private streams (ETSI EN 300 468)."""

AVI = _four(h264="H264 X264 AVC1 DAVC", mpeg4="FMP4 XVID DIVX DX50 MP4V M4S2", mjpeg="MJPG")
"""In upper case."""

AVI_SOUND = _numbered(
    mp2=(0x50,), mp3=(0x55,), aac=(0xFF,), ac3=(0x2000,), dts=(0x2001,), vorbis=(0x566F,)
)
FLV = _four(h264="avc1", hevc="hvc1", av1="av01", vp8="vp08", vp9="vp09")
FLV_SOUND = _numbered(adpcm_swf=(1,), mp3=(2,), pcm_s16le=(3,), aac=(10,), speex=(11,))
IVF = _four(vp8="VP80", vp9="VP90", av1="AV01")
