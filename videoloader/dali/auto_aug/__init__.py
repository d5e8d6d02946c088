"""Automatic augmentation as in `nvidia.dali.auto_aug`: AutoAugment, RandAugment, TrivialAugment.

A module for each of the three, on `augmentations.py` and `suites.py`; what a policy is made of is
in `core/`.
"""
