"""What becomes of samples that a decoding operator cannot decode: noted, left out or masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from videoloader.pipeline.graph.nodes import Node
from videoloader.readers.failures.contained import contained
from videoloader.readers.failures.failures import ErrorPolicy, Failures, own_policy
from videoloader.readers.video.planned import Identity, PlannedClip

__all__ = ["Containment"]


class Containment:
    """The failures of the decoding operators of a pipeline, each under the name of its node.

    Args:
        nodes: of the pipeline.
        policy: of the pipeline. `replace` raises. So does `skip` where there are conditionals: the
            samples of branches are counted by their positions in the batch.
    """

    def __init__(self, nodes: Sequence[Node], policy: ErrorPolicy | None) -> None:
        may_skip = all(node.branch is None for node in nodes)
        own = own_policy(policy, may_skip=may_skip)
        self.failures: Mapping[str, Failures] = {
            node.name: Failures(own)
            for node in nodes
            if node.operator.decoding and node.operator.kind == "decode"
        }

    def contained(
        self,
        node: Node,
        clips: Sequence[PlannedClip],
        identities: Sequence[Identity],
        origins: Sequence[str],
    ) -> list[PlannedClip]:
        """Clips that say what becomes of them if they fail."""
        failures = self.failures.get(node.name)
        if failures is None:  # of an operator that is called outside of a graph
            return list(clips)
        failures.ask(len(clips))
        return list(map(partial(contained, failures), clips, identities, origins))
