"""`videoloader.dali.plugin.pytorch.proxy`, under DALI's name."""

from videoloader.dali.plugin.pytorch.proxy import *  # noqa: F403
from videoloader.dali.plugin.pytorch.proxy import (
    __all__,  # noqa: F401
    _collate_dali_output_sample_ref_fn,  # noqa: F401
)
