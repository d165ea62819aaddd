"""Exceptions and warnings; an exception is also the built-in one that a caller would expect."""

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
    """A parameter with a value that is not allowed."""


class ExportError(HedgerowError, ValueError):
    """A model that the format of an export cannot hold."""


class MemoryLimitError(HedgerowError, MemoryError):
    """A fit that would need more memory than its memory_limit, or than its device has."""


class ModelFileError(HedgerowError, ValueError):
    """A file that is damaged, is not a model, or has a version that this library cannot read."""


class NoSplitWarning(UserWarning):
    """No tree of the model has a split: the prediction is the same for every row."""


class ClusterError(HedgerowError, RuntimeError):
    """A distributed fit that cannot go on: a worker failed, left, or did not answer in time."""


class DeviceError(HedgerowError, RuntimeError):
    """A device that cannot be used: no GPU, no driver or no CUDA libraries."""
