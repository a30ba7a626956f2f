"""Benchmarks: README.md says which to run, and what each answers."""
