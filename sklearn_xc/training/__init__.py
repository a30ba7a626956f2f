"""Shared parts of the passes of a fit: order, rates, weights, samples of streams, when to stop."""
