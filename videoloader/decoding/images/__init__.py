"""Still images: sizes from their headers, pixels by OpenCV, FFmpeg or nvImageCodec."""
