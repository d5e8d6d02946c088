"""Graphs of operators that run ahead of a training loop."""

from videoloader.dali.pipeline import experimental
from videoloader.dali.pipeline.conditionals import do_not_convert
from videoloader.dali.pipeline.definition import pipeline_def
from videoloader.dali.pipeline.graph.expressions import newaxis
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.dali.pipeline.pipeline import Pipeline

__all__ = ["DataNode", "Pipeline", "do_not_convert", "experimental", "newaxis", "pipeline_def"]
