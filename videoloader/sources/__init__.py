"""Sources of bytes: files, memory, URLs, members of archives."""
