"""Two modules know whether ``coef_`` is sparse: its store, and the index made of it."""

import pytest
from _weight_forms import askers, questions


def test_two_modules_ask_which_form_weights_have():
    """All others ask the store of `topk/_weight_store.py` for what they need."""
    assert set(askers()) == {"topk/_weight_store.py", "topk/_inverted_index.py"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sparse.issparse(coef)", 1),
        ("x = self.coef_.toarray() if issparse(self.coef_) else self.coef_", 1),
        ("isinstance(model.coef_, np.ndarray)", 1),
        ("isinstance(W, (list, sparse.csr_array))", 1),
        ("hasattr(coef, 'toarray')", 1),
        ("coef.format == 'csr' or getattr(weights, 'format', None)", 2),
        ("type(coef) is np.ndarray", 1),
        ("sparse.issparse(X) and isinstance(weights, LoadedWeights)", 0),
        ("coef = sparse.csr_array(coef)", 0),
        ("store_of(coef).dense()", 0),
    ],
)
def test_questions_are_found(text, expected):
    assert len(questions(text)) == expected
