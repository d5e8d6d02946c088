"""Programs that write index files: `python -m videoloader.tools.tfrecord2idx DATA INDEX`."""
