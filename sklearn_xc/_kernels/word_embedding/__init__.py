"""Kernels of word_embedding."""
