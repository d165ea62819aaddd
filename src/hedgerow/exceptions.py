"""Exceptions and warnings. Each exception also derives from the matching built-in one."""

__all__ = [
    "ClusterError",
    "DataError",
    "DataWarning",
    "DeviceError",
    "ExportError",
    "HedgerowError",
    "MemoryLimitError",
    "ModelFileError",
    "NoSplitWarning",
    "ParameterError",
]


class HedgerowError(Exception):
    """Base class of Hedgerow's exceptions."""


class DataError(HedgerowError, ValueError):
    """Invalid table, target or weights."""


class DataWarning(UserWarning):
    """A column or target that is valid, but probably not what was intended."""


class ParameterError(HedgerowError, ValueError):
    """A parameter has a value that is not allowed."""


class ExportError(HedgerowError, ValueError):
    """The export format cannot represent the model."""


class MemoryLimitError(HedgerowError, MemoryError):
    """A fit would need more memory than its memory_limit, or than its device has."""


class ModelFileError(HedgerowError, ValueError):
    """A file is damaged, is not a model, or has a version that this library cannot read."""


class NoSplitWarning(UserWarning):
    """No tree of the model has a split: the prediction is the same for every row."""


class ClusterError(HedgerowError, RuntimeError):
    """A distributed fit cannot continue: a worker failed, disconnected or did not answer."""


class DeviceError(HedgerowError, RuntimeError):
    """The device cannot be used: there is no GPU, no driver, or no CUDA libraries."""
