"""Interfaces that may still change: `dynamic`, DALI's dynamic mode."""
