"""Readers: sources that go through a set of files epoch after epoch."""

from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
