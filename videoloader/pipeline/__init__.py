"""Graphs of operators that run ahead of a training loop."""

from videoloader.pipeline import experimental
from videoloader.pipeline.definition import pipeline_def
from videoloader.pipeline.expressions import newaxis
from videoloader.pipeline.graph import DataNode
from videoloader.pipeline.pipeline import Pipeline

__all__ = ["DataNode", "Pipeline", "experimental", "newaxis", "pipeline_def"]
