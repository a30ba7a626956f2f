"""Kernels of datasets."""
