"""Automatic settings of AugmentReduceClassifier: the bound, the rate and its schedule."""

PUBLISHED_RATE, PUBLISHED_LENGTH = 0.02, 68  # on Bibtex, with this many ones in a row
WITHOUT_DRAWS = 4  # times that, where gradients have no noise and rates fall to zero in the end
BATCH, BATCH_OF_PARTS = 500, 32  # of batch_size="auto"
PASSES = 20  # of max_iter="auto", where they make enough steps
RIDGE = 1.0  # of alpha="auto", as LogisticRegression() has on standardised columns
# With some 30 times the classes that a sample of A&R sees, a step of all classes, whose weights
# stand one beside the other, takes as long; with this many it still repays what more it takes.
EXACT_CLASSES = 50
# Samples that gradients of automatic steps are scaled to, where there are more: so a step does not
# depend on how much data is still to come. With 500 to 5000 of them, models were about the same.
REFERENCE = 500


def check_bound(model):
    """Refuse a bound that is not one of the model."""
    if model.model != "softmax" and model.bound not in ("auto", "augment_reduce"):
        raise ValueError(
            f"bound={model.bound!r} is one of the softmax; with model={model.model!r} only "
            "bound='augment_reduce' is possible"
        )


def bound_of(model, n_classes):
    """The bound, where it is "auto" by what the steps cost."""
    if model.bound != "auto":
        return model.bound
    few = n_classes <= EXACT_CLASSES * (model.n_sampled_classes + 1)
    return "exact" if model.model == "softmax" and few else "augment_reduce"


def batch_size_of(model, part=False):
    """Samples of a mini-batch, of a fit or of a stream of parts."""
    if model.batch_size != "auto":
        return int(model.batch_size)
    return BATCH_OF_PARTS if part else BATCH


def automatic_rate(entries_of_row):
    """The published rate for rows of this many entries; the intercept is one more."""
    return PUBLISHED_RATE * (PUBLISHED_LENGTH + 1) / (entries_of_row + 1)


def rate_of(model, bound, entries_of_row, part):
    """The first rate, and whether it falls to zero by the end of the call.

    Parameters
    ----------
    model : AugmentReduceClassifier
    bound : str
        From `bound_of`.
    entries_of_row : float
        In the units of the steps.
    part : bool
        Whether the call is one of partial_fit, which has no end.
    """
    if model.learning_rate != "auto":
        return model.learning_rate, False
    rate = automatic_rate(entries_of_row)
    if model.max_iter == "auto" and bound == "exact" and not part:
        return rate * WITHOUT_DRAWS, True
    return rate, False


def mean_weight(sample_weight):
    """Of the samples that count."""
    return float(sample_weight[sample_weight > 0].mean(dtype="float64"))
