"""`LastBatchPolicy` under the name of DALI's module."""

from videoloader.plugin.epoch_plan import LastBatchPolicy

__all__ = ["LastBatchPolicy"]
