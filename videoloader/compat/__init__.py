"""Drop-ins: the names of other libraries' readers, on this library's frames."""
