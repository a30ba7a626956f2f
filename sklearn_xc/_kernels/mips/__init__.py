"""Kernels of mips."""
