"""``python -m videoloader.demo [FOLDER]``: the demonstration."""

from videoloader.demo.show import app

app()
