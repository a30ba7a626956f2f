"""Kernels of all rooms."""
