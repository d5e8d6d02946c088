"""DataLoader workers that describe data, and a pipeline in the main process that makes it."""

from videoloader.dali.plugin.pytorch.proxy.server import DataLoader, Server
from videoloader.dali.plugin.references import (
    BatchReference,
    Proxy,
    SampleReference,
    collate_references,
)

DALIServer = Server
DALIOutputBatchRef = BatchReference
DALIOutputSampleRef = SampleReference
_collate_dali_output_sample_ref_fn = collate_references  # which examples of DALI call

__all__ = [
    "BatchReference",
    "DALIOutputBatchRef",
    "DALIOutputSampleRef",
    "DALIServer",
    "DataLoader",
    "Proxy",
    "SampleReference",
    "Server",
    "collate_references",
]
