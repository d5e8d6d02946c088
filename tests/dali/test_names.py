"""Public names of DALI 2.4's modules, and members of its classes, beside ours."""

import importlib
import json
from pathlib import Path

import pytest

from videoloader.dali import types
from videoloader.dali.pipeline import Pipeline

NAMES = json.loads((Path(__file__).parent / "references" / "names.json").read_text())

# Names that DALI's modules have for each other, and what docs/dali/dynamic.md says of streams.
ABSENT = {
    "auto_aug.rand_augment": {"signed_bin"},
    "auto_aug.trivial_augment": {"signed_bin"},
    "data_node": {"newaxis", "not_iterable"},
    "experimental.dynamic": {
        *("DType.from_fw_type", "DType.from_type_id", "DType.parse", "Device.default_device_id"),
        *("Device.from_dlpack", "Device.type_from_dlpack", "EvalContext.cache_results"),
        *("EvalContext.cached_results", "EvalContext.checkpoint", "EvalContext.default"),
        *("EvalContext.thread_pool", "ExternalSource", "Stream", "ThreadPool"),
        *("get_current_stream", "get_default_stream", "set_current_stream", "set_default_stream"),
        "stream",
    },
    "pipeline": {"Pipeline.output_stream", "WorkerPool"},
    "plugin.pytorch": {
        *("Pipeline", "TensorCPU", "TensorGPU", "TensorListGPU", "TorchPythonFunction.preserve"),
        *("TorchPythonFunction.schema", "TorchPythonFunction.schema_name"),
        *("TorchPythonFunction.spec", "TorchPythonFunction.torch_wrapper"),
    },
    "plugin.pytorch.experimental.proxy": {
        *("DALIPipelineRunRef", "DataLoader.ensure_server_listening", "to_torch_tensor"),
    },
    "tensors": {
        *("PipelineBatchAdapter", "PipelineTensorAdapter", "TensorGPU.stream"),
        *("TensorListGPU.stream", "format_batch", "format_tensor"),
    },
    "types": {
        *("CPU_ONLY_DEVICE_ID", "CUDAStream", "ConstantNode", "SAME", "TensorLayout"),
        "dali_type_converters",
    },
}
INSTANCES = {
    "Pipeline": Pipeline(batch_size=1),
    "DALIDataType": types.FLOAT,
    "DALIImageType": types.RGB,
    "DALIInterpType": types.INTERP_NN,
}


@pytest.mark.parametrize("module", NAMES)
def test_a_module_has_the_names_of_dali_but_those_listed(module):
    ours, missing = importlib.import_module(f"videoloader.dali.{module}".rstrip(".")), set()
    for name, members in NAMES[module].items():
        if not hasattr(ours, name):
            missing.add(name)
            continue
        own = {*dir(getattr(ours, name)), *dir(INSTANCES.get(name))}
        missing |= {f"{name}.{member}" for member in members if member not in own}
    assert missing == ABSENT.get(module, set())
