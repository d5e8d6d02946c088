"""Automatic augmentation as in `nvidia.dali.auto_aug`: AutoAugment, RandAugment, TrivialAugment."""
