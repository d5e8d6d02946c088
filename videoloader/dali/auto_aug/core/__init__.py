"""Building blocks of automatic augmentation: decorated functions, magnitudes, policies."""

from videoloader.dali.auto_aug.core.decorated import Augmentation, augmentation
from videoloader.dali.auto_aug.core.magnitudes import signed_bin
from videoloader.dali.auto_aug.core.policy import Policy
from videoloader.dali.auto_aug.core.selection import select

_Augmentation = Augmentation  # its name in DALI

__all__ = ["Augmentation", "Policy", "augmentation", "select", "signed_bin"]
