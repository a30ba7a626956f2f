"""First words of docstrings: of a function a verb and its object, of a class a noun."""

import ast
from pathlib import Path

import sklearn_xc

ROOT = Path(sklearn_xc.__file__).parent
WORDS = """
Act Adapt Add Adjust Advance Align Allow Announce Answer Append Apply Ask Assemble Assert Assign
Average Become Begin Bind Bound Bring Build Calibrate Call Cast Catch Center Change Check Choose
Clear Climb Clip Clone Close Collect Combine Come Compare Complete Compute Concatenate Consider
Convert Copy Correct Count Cover Create Cut Deal Decide Declare Decode Define Delete Deliver
Derive Descend Describe Display Divide Do Double Download Draw Drop Dump Embed Encode End Enter
Estimate Evaluate Exchange Exclude Explain Extract Fail Fill Find Finish Fit Follow Forget Format
Free Freeze Gather Generate Get Give Go Group Grow Guess Hand Handle Hash Have Hold Ignore Import
Improve Include Increase Index Initialise Insert Interpret Iterate Join Keep Know Lay Learn Leave
Let Lift Limit List Load Lock Log Look Lower Make Map Mark Mask Match Measure Merge Mix Modify
Move Multiply Name Normalise Note Number Offer Open Order Pack Pair Parse Pass Pause Permute Pick
Place Plan Plot Predict Prefetch Prepare Print Produce Project Propose Prune Publish Pull Push Put
Raise Rank Read Rebuild Recompute Record Reduce Refit Refresh Refuse Register Release Remember
Remove Rename Render Renumber Reorder Repeat Replace Report Require Rescale Reserve Reset Resolve
Respond Restore Resume Return Reverse Round Route Run Sample Save Say Scale Scatter Score Search
See Select Send Serve Set Shift Shorten Show Shrink Shuffle Simulate Sketch Skip Solve Sort Split
Spread Standardise Start Step Stop Store Stratify Strip Subtract Sum Swap Tag Take Tell Test
Tokenize Train Transform Translate Transpose Treat Truncate Try Tune Turn Undo Unpack Update Use
Validate Verify View Visit Wait Walk Warn Weight Wrap Write Yield Zero Zip
"""
VERBS = set(WORDS.split())
NEVER = {"Those", "That", "What", "As"}
# Files whose functions still begin with nouns. The list may only become shorter.
OPEN = {
    "augment_reduce/_auto.py",
    "augment_reduce/_bounds.py",
    "augment_reduce/_classifier.py",
    "augment_reduce/_fitted.py",
    "augment_reduce/_parts.py",
    "augment_reduce/_train.py",
    "base/_labels.py",
    "base/_multiclass.py",
    "base/_topk_predictor.py",
    "base/_validation.py",
    "calibration/_calibrators.py",
    "calibration/_mixin.py",
    "calibration/_top_label.py",
    "calibration/_transforms.py",
    "cli/_model.py",
    "implicit_softmax/_data.py",
    "implicit_softmax/_implicit_batches.py",
    "implicit_softmax/_parts.py",
    "implicit_softmax/_rate_search.py",
    "implicit_softmax/_regressor.py",
    "implicit_softmax/_settings.py",
    "implicit_softmax/_train.py",
    "inspection/_coverage.py",
    "inspection/_label_frequency.py",
    "ldgs/_auto.py",
    "ldgs/_candidate_gradients.py",
    "ldgs/_classifier.py",
    "ldgs/_data.py",
    "ldgs/_fitted.py",
    "ldgs/_layers.py",
    "ldgs/_partial_fit.py",
    "ldgs/_plain_steps.py",
    "ldgs/_steps.py",
    "ldgs/_train.py",
    "memoir/_classifier.py",
    "memoir/_data.py",
    "memoir/_partial_fit.py",
    "memoir/_seen.py",
    "meta/_abstain.py",
    "meta/_base.py",
    "meta/_by_response.py",
    "meta/_calibrated.py",
    "meta/_threshold.py",
    "metrics/_coverage.py",
    "metrics/_f1.py",
    "metrics/_ranking.py",
    "metrics/_scorer.py",
    "model_selection/_cross_val_label_scores.py",
    "model_selection/_cross_val_topk.py",
    "model_selection/_duplicates.py",
    "model_selection/_learning_curve.py",
    "model_selection/_out_of_fold.py",
    "model_selection/_routing.py",
    "neighbors/_growth.py",
    "persistence/_mixin.py",
    "ppdsparse/_add_labels.py",
    "ppdsparse/_assembly.py",
    "ppdsparse/_checkpoint.py",
    "ppdsparse/_classifier.py",
    "ppdsparse/_classifier_cv.py",
    "ppdsparse/_penalty_pilot.py",
    "ppdsparse/_penalty_search.py",
    "ppdsparse/_problem.py",
    "ppdsparse/_solver.py",
    "serve/_requests.py",
    "stacking/_classifier.py",
    "stacking/_fit_parts.py",
    "stacking/_predictions.py",
    "stacking/_scorer.py",
    "topk/_predict.py",
    "topk/_restriction.py",
    "utils/_class_weight.py",
    "utils/_given_labels.py",
    "utils/_optional_import.py",
}


def documented(kinds):
    """Yield file, line, node and first word of the docstrings of functions or classes."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                name = path.relative_to(ROOT).as_posix()
                yield name, node.lineno, node, text.split(maxsplit=1)[0].strip(".,:;")


def is_attribute(function):
    """Say whether a function is read as an attribute, which a noun describes."""
    kinds = {"property", "cached_property", "setter"}
    return any(getattr(d, "id", getattr(d, "attr", "")) in kinds for d in function.decorator_list)


def test_functions_begin_with_a_verb():
    """A verb that is missing here is added; a noun is no verb."""
    found = [
        (name, line, node.name, word)
        for name, line, node, word in documented((ast.FunctionDef, ast.AsyncFunctionDef))
        if word not in VERBS and name not in OPEN and not is_attribute(node)
    ]
    assert found == []


def test_classes_do_not_begin_with_a_word_that_stands_for_another():
    found = [
        (name, line, word) for name, line, _, word in documented(ast.ClassDef) if word in NEVER
    ]
    assert found == []
