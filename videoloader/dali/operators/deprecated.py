"""Arguments that DALI still takes from old programs, with a DeprecationWarning."""

from __future__ import annotations

from dataclasses import dataclass

from videoloader.machinery.system.callers import warn_deprecated


@dataclass(frozen=True, slots=True)
class Deprecated:
    """A deprecated argument. It stands in no signature.

    Its value goes to the argument `renamed_to`. Without that it goes to the operator, if that
    declares an argument of this name, and nowhere if not.

    Args:
        name: the keyword.
        renamed_to: the argument that takes its place.
        advice: what to write instead, if that is not just the new name.
    """

    name: str
    renamed_to: str = ""
    advice: str = ""

    def warn(self, operator: str, *, is_used: bool) -> None:
        """Say that an operator was given it."""
        what = "is deprecated" if is_used else "is deprecated and has no effect"
        advice = self.advice or (f"use {self.renamed_to}" if self.renamed_to else "leave it out")
        warn_deprecated(f"fn.{operator}: {self.name} {what}; {advice}")


OUTPUT_DTYPE = Deprecated("output_dtype", renamed_to="dtype")
NO_IMAGE_TYPE = Deprecated("image_type")
NO_SEED = Deprecated("seed", advice="no random numbers are drawn")
"""The deprecated `seed` of every operator that draws no random numbers."""
