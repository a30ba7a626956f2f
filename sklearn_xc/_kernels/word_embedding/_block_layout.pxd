"""How many shared contexts a block of words has; see `_word_layout.pyx`."""

cdef enum:  # columns of `sizes`
    FREQUENT
    CERTAIN  # shared contexts that are certain
    FEW  # and those drawn that the steps of words use
    ALL
