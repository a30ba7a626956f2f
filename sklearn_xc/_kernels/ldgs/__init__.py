"""Kernels of ldgs."""
