"""Programs that write index files: `python -m videoloader.dali.tools.tfrecord2idx DATA INDEX`."""
