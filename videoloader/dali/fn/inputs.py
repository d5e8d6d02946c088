"""Inputs: sources that are fed with whole files."""

from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
