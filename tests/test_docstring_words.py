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
Move Multiply Name Normalise Note Number Offer Open Order Pack Pad Pair Parse Pass Pause Permute
Pick Place Plan Plot Predict Prefetch Prepare Print Produce Project Propose Prune Publish Pull
Push Put Raise Rank Read Rebuild Recompute Record Reduce Refit Refresh Refuse Register Release
Remember Remove Rename Render Renumber Reorder Repeat Replace Report Require Rescale Reserve Reset
Resolve Respond Restore Resume Return Reverse Round Route Run Sample Save Say Scale Scatter Score
Search See Select Send Serve Set Share Shift Shorten Show Shrink Shuffle Simulate Sketch Skip
Solve Sort Split Spread Standardise Start Step Stop Store Stratify Strip Subtract Sum Swap Tag
Take Tell Test Tokenize Train Transform Translate Transpose Treat Truncate Try Tune Turn Undo
Unpack Update Use Validate Verify View Visit Wait Walk Warn Weight Wrap Write Yield Zero Zip
"""
VERBS = set(WORDS.split())
NEVER = {"Those", "That", "What", "As"}


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
        if word not in VERBS and not is_attribute(node)
    ]
    assert found == []


def test_classes_do_not_begin_with_a_word_that_stands_for_another():
    found = [
        (name, line, word) for name, line, _, word in documented(ast.ClassDef) if word in NEVER
    ]
    assert found == []
