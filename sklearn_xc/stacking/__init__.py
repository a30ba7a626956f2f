"""A learned stack of classifiers that name their k best labels."""
