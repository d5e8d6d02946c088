"""Decodes still images with libjpeg-turbo, OpenCV, FFmpeg and nvImageCodec."""
