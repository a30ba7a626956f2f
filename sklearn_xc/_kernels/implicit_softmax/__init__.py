"""Kernels of implicit_softmax."""
