"""Bridges from pipelines to training frameworks."""
