"""Files and functions are as short as the developers' guide says, counted in lines of code."""

import pytest
from _sizes import MOST_ARGUMENTS, beyond, code_of, kernel_functions, python_functions, sizes

ALLOWED = {
    "datasets/_generate.py: make_xc_classification has 15 arguments",  # as scikit-learn's
    "model_selection/_validation.py: cross_validate has 13 arguments",  # scikit-learn's own
    "model_selection/_out_of_fold.py: held_out_topk has 11 arguments",
    "_kernels/common/_blas.pxd: matmul has 13 arguments",  # BLAS's own
    "_kernels/ppdsparse/_byte_search.pyx: search_bytes has 62 lines of code",
}


def test_nothing_is_too_long():
    assert len(sizes()) > 300
    assert sorted(set(beyond()) - ALLOWED) == []


@pytest.mark.parametrize(
    ("functions", "text", "expected"),
    [
        (
            python_functions,
            'def f(self, a, *, b=1):\n    """Text.\n\n    More."""\n    # why\n    return a\n',
            ("f", 2, 2),
        ),
        (
            kernel_functions,
            "cdef void f(\n    int a, const float[:, ::1] b,  # why\n) noexcept nogil:\n"
            '    """Text."""\n    a = 1\n\n\ndef g():\n    pass\n',
            ("f", 4, 2),
        ),
        (kernel_functions, "cdef int f(int a) noexcept nogil\ncdef int g()\n", ("f", 1, 1)),
    ],
)
def test_docstrings_comments_and_blank_lines_do_not_count(functions, text, expected):
    assert next(iter(functions(text))) == expected


def test_a_literal_is_code():
    assert code_of('x = "#"  # a sign\n\n') == ['x = "#"']
    assert set(MOST_ARGUMENTS) == {".py", ".pyx", ".pxd"}
