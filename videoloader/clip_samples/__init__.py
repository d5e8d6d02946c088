"""Samples of `Loader` and `ClipDataset`: sources, requests, labels, columns, batches."""
