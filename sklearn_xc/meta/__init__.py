"""Meta-estimators around any model with top-k predictions."""
