"""Shared parts of the passes of a fit: order, rates, weights, rows of streams, when to stop."""
