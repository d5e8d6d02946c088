"""Decoders: from the bytes of a file, or its path, to frames."""

from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
