"""Decode plans in, frames out."""
