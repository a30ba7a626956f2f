"""A name of a class means one thing; methods of an estimator stand in classes."""

import ast

from _names import assigns_first, classes, exiles


def test_names_of_classes_differ():
    found = classes()
    assert len(found) > 200
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_functions_leave_the_attributes_of_others_alone():
    """A function that changes the state of an object belongs into its class."""
    assert exiles() == set()


def test_assignments_are_found():
    texts = "a.x = 1", "a.x, b = 1, 2", "del a.x", "a.x += 1", "setattr(a, 'x', 1)"
    texts += "vars(a).pop('x')", "vars(a).update(x=1)", "vars(a)['x'] = 1", "a.__dict__ = b"
    for text in texts:
        assert assigns_first(ast.parse(f"def f(a, b):\n    {text}").body[0])
    for text in "b.x = a.x", "b = vars(a).get('x')", "b = vars(a)['x']":
        assert not assigns_first(ast.parse(f"def f(a, b):\n    {text}").body[0])
