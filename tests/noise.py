"""A random transform that worker processes can import."""

import torch


def add_noise(frames):
    """Draws from torch's global generator, as transforms of torchvision do."""
    return frames.float() + torch.rand(frames.shape)
