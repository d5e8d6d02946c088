"""A demonstration: generated videos, indexed, sampled and decoded, as one page to look at."""
