"""Graphs of operators that run ahead of a training loop."""

from videoloader.pipeline import experimental
from videoloader.pipeline.conditionals import do_not_convert
from videoloader.pipeline.definition import pipeline_def
from videoloader.pipeline.graph.expressions import newaxis
from videoloader.pipeline.graph.nodes import DataNode
from videoloader.pipeline.pipeline import Pipeline

__all__ = [
    "DataNode",
    "Pipeline",
    "do_not_convert",
    "experimental",
    "newaxis",
    "pipeline_def",
]
