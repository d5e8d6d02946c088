"""Decoders of images under their experimental names."""

from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
