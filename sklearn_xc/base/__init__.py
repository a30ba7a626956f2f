"""What the estimators inherit."""
