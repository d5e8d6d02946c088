"""Functions of the user as operators."""
