"""Where DALI has debug mode: `pipeline_def(debug=True)` runs a definition for every batch."""

from videoloader.dali.pipeline.definition import pipeline_def

__all__ = ["pipeline_def"]
