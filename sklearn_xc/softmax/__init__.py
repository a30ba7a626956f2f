"""What the two softmax methods share: weights, sampled classes, the full softmax."""
