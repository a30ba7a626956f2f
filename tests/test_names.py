"""A name of a class means one thing; methods of an estimator stand in classes."""

import ast

from _names import assigns_first, classes, exiles

# Functions that assign attributes of an object of another file. The list may only get shorter: a
# function that is not here belongs into the class whose state it changes.
ALLOWED = {
    "inspection/_display.py: axes_for",
    "ppdsparse/_add_labels.py: add_labels",
    "stacking/_growth.py: grown",
    "utils/_matrix.py: narrow_indices",
    "word_embedding/_estimator.py: _set_vectors",
}


def test_names_of_classes_differ():
    found = classes()
    assert len(found) > 200
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_functions_leave_the_attributes_of_others_alone():
    assert exiles() == ALLOWED


def test_assignments_are_found():
    texts = "a.x = 1", "a.x, b = 1, 2", "del a.x", "a.x += 1", "setattr(a, 'x', 1)"
    for text in texts:
        assert assigns_first(ast.parse(f"def f(a, b):\n    {text}").body[0])
    assert not assigns_first(ast.parse("def f(a, b):\n    b.x = a.x").body[0])
