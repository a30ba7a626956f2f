"""Parameters of the indexes against a table of what they may be."""


def check_parameters(index):
    """Check every parameter that the class's table ``_allowed`` names.

    An entry is (kind, lowest, highest), bounds inclusive and None for no bound; or a tuple of
    the strings allowed; or the set of both with None, if None is allowed too.

    Raises
    ------
    ValueError
        That names the parameter, its value and what is allowed.
    """
    for name, entry in index._allowed.items():
        value = getattr(index, name)
        optional = isinstance(entry, frozenset)
        if optional:
            (entry,) = entry
            if value is None:
                continue
        if isinstance(entry[0], str):
            good, text = isinstance(value, str) and value in entry, f"one of {', '.join(entry)}"
        else:
            good, text = _in_range(value, *entry), _range_text(*entry)
        if not good:
            owner = type(index).__name__
            text += " or None" if optional else ""
            raise ValueError(f"{name} of {owner} must be {text}; got {value!r}")


def _in_range(value, kind, low, high):
    if isinstance(value, bool) or not isinstance(value, kind):
        return False
    return (low is None or value >= low) and (high is None or value <= high)


def _range_text(kind, low, high):
    text = {"Integral": "an integer", "Real": "a number"}[kind.__name__]
    if low is not None and high is not None:
        return f"{text} from {low} to {high}"
    return text if low is None else f"{text} of at least {low}"
