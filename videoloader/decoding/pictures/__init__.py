"""Decoded pictures: their planes, their colours, and conversion to RGB.

Start at `surface.py` (`Surface`), a decoded picture. `color.py` says what its samples mean,
`matrix.py` has the equations to RGB, `swscale.py` FFmpeg's own conversion.
"""
