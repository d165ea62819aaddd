"""Hedgerow side by side with its peers: ``python -m benchmarks``, or ``make bench``."""
