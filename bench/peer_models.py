# SPDX-License-Identifier: MIT
"""peer_models.py FOLDER - writes the ONNX models that bench/peer_onnxruntime measures."""
import sys

import onnx
from onnx import TensorProto, helper


def chain(n):
    """n graph nodes on 16 floats in a row: Add of a, Mul by b, Add of a, ..."""
    nodes, last = [], "x"
    for i in range(n):
        result = "r" if i == n - 1 else f"t{i}"
        op, other = ("Add", "a") if i % 2 == 0 else ("Mul", "b")
        nodes.append(helper.make_node(op, [last, other], [result], name=f"n{i}"))
        last = result
    args = ["x", "a", "b"] if n > 1 else ["x", "a"]
    values = [helper.make_tensor_value_info(v, TensorProto.FLOAT, [16]) for v in args + ["r"]]
    graph = helper.make_graph(nodes, f"chain{n}", values[:-1], values[-1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    for count in (1, 1000):
        onnx.save(chain(count), f"{sys.argv[1]}/chain{count}.onnx")
