"""Where the bytes of a video come from: files, memory, URLs, members of archives."""
