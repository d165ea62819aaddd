"""A page about a model: summary dict (summary.py) → charts (charts.py) → page (rendering.py)."""

from hedgerow._reporting.writing import report

__all__ = ["report"]
