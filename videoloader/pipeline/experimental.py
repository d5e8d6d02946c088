"""`pipeline_def` under the name by which DALI offers its newer arguments."""

from videoloader.pipeline.definition import pipeline_def

__all__ = ["pipeline_def"]
