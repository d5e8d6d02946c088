"""Ways in for training: samples in an order, decoded and collated into batches.

`loader.py` (`Loader`) decodes batches ahead, `clip_dataset.py` (`ClipDataset`) and
`epoch_sampler.py` (`EpochSampler`) serve PyTorch's `DataLoader`. The other modules are what they
share: `sources.py` which videos, `segments/segments.py` (`Segments`) which parts of them,
`requests.py` and `samples.py` which clips of these, `labels/` what else is known of them,
`batch_content.py` what a batch holds.

For `videoloader.dali`: `epoch_samples.py`, `known_bad.py`, `labels/label_column.py`,
`labels/label_values.py`, `rank.py`, `segments/segments.py`, `shared_records.py`, `sources.py`.
"""
