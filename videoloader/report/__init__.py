"""What the commands show: tables, sheets of frames, `videoloader top`, `videoloader doctor`."""
