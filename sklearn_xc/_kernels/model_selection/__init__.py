"""Kernels of model_selection."""
