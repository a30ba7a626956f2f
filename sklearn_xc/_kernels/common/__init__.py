"""Kernels that all others may use."""
