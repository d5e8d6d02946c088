"""Processes that work for this one: supervised, limited, and gone when it ends."""
