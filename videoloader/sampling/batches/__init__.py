"""Batches of videos of many sizes and lengths: buckets and packs."""
