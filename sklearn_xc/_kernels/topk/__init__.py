"""Kernels of topk."""
