"""A name of a class means one thing; methods of an estimator stand in classes."""

import ast

from _names import assigns_first, classes, exiles

# Functions that assign attributes of an object of another file. The list may only get shorter: a
# function that is not here belongs into the class whose state it changes.
ALLOWED = {
    "augment_reduce/_parts.py: _step_on_rest",
    "augment_reduce/_parts.py: train_on_part",
    "base/_fitted.py: take_loaded_weights",
    "base/_multiclass.py: _grow",
    "base/_multiclass.py: _set_classes",
    "base/_multiclass.py: partial_fit",
    "base/_nearly_empty.py: count_rows_with_labels",
    "base/_nearly_empty.py: warn_if_nearly_empty",
    "base/_validation.py: _keep_callbacks",
    "base/_validation.py: _restored_on_failure",
    "base/_validation.py: validate_fit",
    "implicit_softmax/_parts.py: train_on_part",
    "inspection/_display.py: axes_for",
    "ldgs/_data.py: _part_of_indicator",
    "ldgs/_fitted.py: keep",
    "ldgs/_fitted.py: place_classes",
    "ldgs/_fitted.py: put_back",
    "ldgs/_fitted.py: set_model",
    "ldgs/_partial_fit.py: train_on_part",
    "memoir/_growing_weights.py: of_length_one",
    "memoir/_partial_fit.py: train_on_part",
    "memoir/_seen.py: begin",
    "memoir/_seen.py: take_in",
    "memoir/_seen.py: with_weight_of_classes",
    "ppdsparse/_add_labels.py: add_labels",
    "softmax/_parts.py: put_back",
    "stacking/_growth.py: grown",
    "training/_waiting.py: keep_beginning",
    "training/_waiting.py: take_back",
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
