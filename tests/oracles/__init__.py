"""Naive, readable implementations that the fast kernels are held to."""
