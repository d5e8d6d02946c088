"""Still images: sizes from their headers, pixels by libjpeg-turbo, OpenCV, FFmpeg, nvImageCodec."""
