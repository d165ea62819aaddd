"""Hedgerow: learning from tables."""

__version__ = "0.1.0"
