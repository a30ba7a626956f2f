"""Kernels of stacking."""
