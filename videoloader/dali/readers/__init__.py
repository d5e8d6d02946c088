"""Readers: listings and orders of videos, and the clips that are wanted of them."""
