"""Gradient boosting on NVIDIA GPUs, with the models of the CPU bit for bit."""
