"""Input and output of files."""

from videoloader.dali.fn.io import file  # noqa: F401
from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
