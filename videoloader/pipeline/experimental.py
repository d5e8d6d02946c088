"""Where DALI has debug mode: `pipeline_def(debug=True)` runs a definition for every batch."""

from videoloader.pipeline.definition import pipeline_def

__all__ = ["pipeline_def"]
