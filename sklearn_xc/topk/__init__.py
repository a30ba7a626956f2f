"""Top-k prediction of linear models."""
