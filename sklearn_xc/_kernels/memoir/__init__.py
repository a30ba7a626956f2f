"""Kernels of memoir."""
