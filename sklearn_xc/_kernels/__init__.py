"""Compiled kernels: one algorithm a module, memoryviews and scalars only."""
