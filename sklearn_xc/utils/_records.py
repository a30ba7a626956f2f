"""The classes that a file of a model may name."""

RECORDS = {}  # parts of estimators: see `record`
ESTIMATORS = {}  # see `savable`


def record(cls):
    """Class decorator: objects of this class, with what ``vars`` says of them, can be saved.

    The names of its attributes are part of the file format from then on. If the class has a method
    ``_check_record``, it is called after loading and raises ValueError where they do not fit
    together.
    """
    RECORDS[cls.__name__] = cls
    return cls


def savable(cls):
    """Class decorator: a file may hold this estimator, under the name of its class."""
    ESTIMATORS[cls.__name__] = cls
    return cls
