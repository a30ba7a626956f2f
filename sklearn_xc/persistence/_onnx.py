"""Linear models as graphs of ONNX, of standard operators only, with sparse or dense weights.

ONNX multiplies dense matrices only. The graph of sparse weights therefore gathers the weights of
the features that a row has, a list of (label, weight) for each feature, and adds them up where
their labels stand: scores[row, label] = intercept[label] + sum of data * weight.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..utils._optional_import import optional_import
from ._pecos import linear_parts

OPSET, IR = 18, 10  # the first with sums in ScatterElements, and a file format of its time
# A line is an operator, its inputs, and its output. Given are the m stored entries of n rows
# (indices, data, rows); `entry` says of each weight for which of them it was gathered.
SPARSE = """\
Gather starts indices = begin
Add indices one = following
Gather starts following = end
Sub end begin = length
CumSum length axis = until
Sub until length = before
ReduceSum length = total
Add total one = room
ConstantOfShape room = zeros
Sub following indices = ones
ScatterElements zeros before ones = jumps
CumSum jumps axis = steps
Slice steps zero total = counted
Sub counted one = entry
Squeeze total = stop
Range axis stop step = number
Sub begin before = shift
Gather shift entry = shifts
Add number shifts = place
Gather label_of place = narrow
Cast narrow = label
Gather weights place = weight
Gather data entry = value
Mul weight value = part
Gather rows entry = row
Mul row n_labels = first
Add first label = cell
Concat n n_labels = shape
Expand intercept shape = base
Reshape base flat = sums
ScatterElements sums cell part = added
Reshape added shape = scores_of_all
TopK scores_of_all k = scores labels"""
DENSE = "Gemm X weights intercept = scores_of_all\nTopK scores_of_all k = scores labels"


def write_onnx(model: BaseEstimator, path: str) -> None:
    """Write a linear classifier, with sparse weights where these take fewer bytes."""
    onnx = optional_import("onnx", "writing ONNX")
    helper, array, integer, real = onnx.helper, onnx.numpy_helper.from_array, 7, 1
    coef, intercept = linear_parts(model)
    values = {"intercept": intercept}
    # A sparse weight takes a number and a label, as many bytes as two dense ones.
    if 2 * coef.nnz > np.prod(coef.shape):
        lines, inputs = DENSE, {"X": (real, ["n", coef.shape[1]])}
        values["weights"] = np.ascontiguousarray(coef.toarray().T, dtype=np.float32)
    else:
        # By features: starts[j] to starts[j + 1] are the places of the weights of feature j.
        lines, W = SPARSE, sparse.csc_array(coef)
        values |= {"starts": W.indptr.astype(np.int64), "label_of": W.indices.astype(np.int32)}
        values |= {"weights": W.data.astype(np.float32), "axis": np.int64(0), "step": np.int64(1)}
        numbers = {"zero": 0, "one": 1, "flat": -1, "n_labels": len(intercept)}
        values |= {name: np.array([number]) for name, number in numbers.items()}
        inputs = {"indices": (integer, ["m"]), "data": (real, ["m"]), "rows": (integer, ["m"])}
        inputs["n"] = integer, [1]
    details: dict[str, dict[str, Any]] = {
        "ScatterElements": {"reduction": "add"},
        "Cast": {"to": integer},
    }
    details |= {"TopK": {"axis": 1}, "Concat": {"axis": 0}}
    details["ConstantOfShape"] = {"value": array(np.zeros(1, np.int64))}
    nodes = []
    # "operator inputs = outputs", see SPARSE.
    for line in lines.splitlines():
        (operator, *given), made = (side.split() for side in line.split(" = "))
        nodes.append(helper.make_node(operator, given, made, **details.get(operator, {})))
    inputs["k"] = integer, [1]
    outputs = {"labels": (integer, ["n", "k"]), "scores": (real, ["n", "k"])}
    sides = (
        [helper.make_tensor_value_info(name, *details) for name, details in some.items()]
        for some in (inputs, outputs)
    )
    constants = [array(np.asarray(value), name) for name, value in values.items()]
    graph = helper.make_graph(nodes, "sklearn_xc", *sides, constants)
    opsets = [helper.make_opsetid("", OPSET)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=IR), path)
