"""`tune`: what a loader reaches with a user's own videos, what limits it, and what would help.

Start at `tuner.py`; `trials.py` runs loaders, `transcoding.py` predicts what shorter groups of
pictures give, `advice.py` has the values that `tune` returns.
"""

from videoloader.datasets.tuning.advice import Advice, Tuning
from videoloader.datasets.tuning.tuner import tune

__all__ = ["Advice", "Tuning", "tune"]
