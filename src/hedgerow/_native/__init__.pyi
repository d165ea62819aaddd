"""Hedgerow's native kernels."""
