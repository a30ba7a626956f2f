"""Kernels of ppdsparse."""
