from sklearn_xc.utils._random import stream


def first(*key):
    return stream(*key).integers(2**63)


def test_streams_are_told_apart_by_all_of_their_key():
    keys = [(0, "epoch", 1), (1, "epoch", 1), (0, "recall", 1), (0, "epoch", 2), (0, "epoch")]
    assert len({first(*key) for key in keys}) == len(keys)
    assert [first(*key) for key in keys] == [first(*key) for key in keys]
