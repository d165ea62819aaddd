"""What Hedgerow raises, each also the built-in exception that a caller expects; and warnings."""

__all__ = [
    "DataError",
    "DataWarning",
    "HedgerowError",
    "ModelFileError",
    "NoSplitWarning",
    "ParameterError",
]


class HedgerowError(Exception):
    """Base of every exception of Hedgerow's own."""


class DataError(HedgerowError, ValueError):
    """A table, target or weight that cannot be learned from or predicted on."""


class DataWarning(UserWarning):
    """A column or target that can be learned from, but is probably not what was meant."""


class ParameterError(HedgerowError, ValueError):
    """A parameter outside what is allowed."""


class ModelFileError(HedgerowError, ValueError):
    """A file that is not an intact model of a version this library reads."""


class NoSplitWarning(UserWarning):
    """A model of trees none of which has a split: every row gets the same prediction."""
