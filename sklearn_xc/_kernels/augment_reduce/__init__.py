"""Kernels of augment_reduce."""
