"""MP4 and MOV (ISO base media files): indexed from the tables in `moov` and `moof` boxes."""
