"""Parsers of coded video headers, for indexes and decode plans.

Start at `codec.py` (`Codec`), all that the library asks of a codec; `registry.py` (`CODECS`) has
one value for each. `contexts.py` opens FFmpeg's decoder of a codec. The other modules parse:
`nal.py` NAL units, `records.py` decoder configuration records, the rest the headers of one codec or
family. No module above tests a codec by its name.
"""
