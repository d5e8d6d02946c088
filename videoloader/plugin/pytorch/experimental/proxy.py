"""`videoloader.plugin.pytorch.proxy`, under DALI's name."""

from videoloader.plugin.pytorch.proxy import (
    BatchReference,
    DALIOutputBatchRef,
    DALIOutputSampleRef,
    DALIServer,
    DataLoader,
    Proxy,
    SampleReference,
    Server,
    _collate_dali_output_sample_ref_fn,  # noqa: F401
    collate_references,
)

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
