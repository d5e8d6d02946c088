"""Noise: what a camera or a bad channel adds to pictures, and to any other data."""

from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
