"""Element types, enumerations and constants, under the names that DALI users know.

>>> RGB, INTERP_LINEAR, FLOAT
(ImageType.RGB, InterpType.INTERP_LINEAR, DataType.FLOAT)
>>> NHWC, NCHW, NFHWC, NFCHW  # layouts of a sample
('HWC', 'CHW', 'FHWC', 'FCHW')
"""

from __future__ import annotations

from videoloader.dali.types.constants import ArrayConstant, Constant, ScalarConstant
from videoloader.dali.types.names import (
    DataType,
    ImageType,
    InterpType,
    PipelineAPIType,
    to_dali_type,
    to_numpy_type,
    to_torch,
)
from videoloader.dali.types.operands import Computable, Operand
from videoloader.machinery.workers.sample_info import BatchInfo, SampleInfo

__all__ = [
    "ANY_DATA",
    "BGR",
    "BOOL",
    "DATA_TYPE",
    "FEATURE",
    "FLOAT",
    "FLOAT16",
    "FLOAT64",
    "GRAY",
    "IMAGE_TYPE",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "INTERP_CUBIC",
    "INTERP_GAUSSIAN",
    "INTERP_LANCZOS3",
    "INTERP_LINEAR",
    "INTERP_NN",
    "INTERP_TRIANGULAR",
    "INTERP_TYPE",
    "NCHW",
    "NFCHW",
    "NFHWC",
    "NHWC",
    "NO_TYPE",
    "PYTHON_OBJECT",
    "RGB",
    "STRING",
    "TENSOR_LAYOUT",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "ArrayConstant",
    "BatchInfo",
    "Computable",
    "Constant",
    "DALIDataType",
    "DALIImageType",
    "DALIInterpType",
    "DataType",
    "ImageType",
    "InterpType",
    "Operand",
    "PipelineAPIType",
    "SampleInfo",
    "ScalarConstant",
    "YCbCr",
    "to_dali_type",
    "to_numpy_type",
    "to_torch",
    "to_torch_type",
]

NO_TYPE, BOOL, STRING = DataType.NO_TYPE, DataType.BOOL, DataType.STRING
INT8, INT16, INT32, INT64 = DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64
UINT8, UINT16, UINT32, UINT64 = DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64
FLOAT16, FLOAT, FLOAT64 = DataType.FLOAT16, DataType.FLOAT, DataType.FLOAT64
IMAGE_TYPE, DATA_TYPE = DataType.IMAGE_TYPE, DataType.DATA_TYPE
INTERP_TYPE, TENSOR_LAYOUT = DataType.INTERP_TYPE, DataType.TENSOR_LAYOUT
FEATURE, PYTHON_OBJECT = DataType.FEATURE, DataType.PYTHON_OBJECT

INTERP_NN, INTERP_LINEAR = InterpType.INTERP_NN, InterpType.INTERP_LINEAR
INTERP_CUBIC, INTERP_LANCZOS3 = InterpType.INTERP_CUBIC, InterpType.INTERP_LANCZOS3
INTERP_TRIANGULAR, INTERP_GAUSSIAN = InterpType.INTERP_TRIANGULAR, InterpType.INTERP_GAUSSIAN

RGB, BGR, GRAY, YCbCr = ImageType.RGB, ImageType.BGR, ImageType.GRAY, ImageType.YCbCr
ANY_DATA = ImageType.ANY_DATA

NCHW, NHWC, NFHWC, NFCHW = "CHW", "HWC", "FHWC", "FCHW"  # of samples, as old programs write them

DALIDataType, DALIInterpType, DALIImageType = DataType, InterpType, ImageType
to_torch_type = to_torch
