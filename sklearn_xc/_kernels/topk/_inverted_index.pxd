"""The order of additions of `_inverted_index`, which `_candidate_scores` keeps."""

cdef enum:
    BATCH = 256  # features with weights for all classes that are added in one pass over the classes
