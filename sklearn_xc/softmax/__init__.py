"""Shared by the two softmax methods: weights, sampled classes, the full softmax."""
