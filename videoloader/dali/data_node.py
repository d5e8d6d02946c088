"""`DataNode` under the name of DALI's module."""

from videoloader.dali.pipeline.graph.nodes import DataNode

__all__ = ["DataNode"]
