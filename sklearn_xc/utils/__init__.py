"""Shared parts below everything else."""
