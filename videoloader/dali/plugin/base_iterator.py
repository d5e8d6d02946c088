"""`LastBatchPolicy` under the name of DALI's module."""

from videoloader.dali.plugin.epoch_plan import LastBatchPolicy

__all__ = ["LastBatchPolicy"]
