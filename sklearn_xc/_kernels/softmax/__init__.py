"""Kernels of softmax."""
