"""Base classes of the estimators, and the functions that these call."""
