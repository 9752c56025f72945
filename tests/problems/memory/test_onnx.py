"""ONNX files as programs: what tracing the same PyTorch module gives; the known costs nothing; faults in one line."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import corl
from corl.cli.main import main
from corl.errors import InputError, UsageError
from corl.problems.memory.problem import Mapping
from corl.problems.memory.tracing import trace, trace_model, trace_onnx

onnx = pytest.importorskip("onnx", reason="the extra `trace` is not installed")
helper, FLOAT, INT64 = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def node(kind, inputs, output="y", **attributes):
    """A node with one result, named after it."""
    return helper.make_node(kind, inputs.split(), [output], name=f"n_{output}", **attributes)


def integers(name, *values):
    return helper.make_tensor(name, INT64, [len(values)], values)


def weight(name, *shape):
    return onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name)


@pytest.fixture
def save(tmp_path):
    """A function that writes a model of inputs (name -> shape) and gives its path."""

    def write(nodes, inputs, initializers=(), opset=20, output="y", external=False, domain=""):
        given = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()]
        result = [helper.make_tensor_value_info(output, FLOAT, None)]
        graph = helper.make_graph(list(nodes), "graph", given, result, list(initializers))
        opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
        model = helper.make_model(graph, opset_imports=opsets)
        path = tmp_path / "model.onnx"
        onnx.save(model, str(path), save_as_external_data=external, location="model.data", size_threshold=0)
        return path

    return write


def moved(program, name):
    """(tensor -> bytes read, tensor -> bytes written) of the operation of that name."""
    i = program.op_names.index(name)
    lists = {}, {}
    for a in range(program.access_first[i], program.access_first[i + 1]):
        lists[int(program.access_write[a])][program.tensor_names[program.access_tensor[a]]] = int(program.access_bytes[a])
    return lists


def same_work(one, other):
    """Whether two programs have the same operations in everything but names."""
    keys = ("matrix", "flops", "access_first", "access_tensor", "access_bytes", "access_write", "sizes", "group")
    return all(np.array_equal(getattr(one, key), getattr(other, key)) for key in keys) and one.kinds == other.kinds


def test_a_convolution_with_its_normalisation(save):
    """One fused operation; FLOPs by hand, tensors with the names of the file."""
    nodes = [
        node("Conv", "x w", "c", pads=[1] * 4, strides=[2, 2]),
        node("BatchNormalization", "c scale bias mean var", "b"),
        node("Relu", "b"),
    ]
    parts = [weight(name, 4) for name in ("scale", "bias", "mean", "var")]
    made = trace_onnx(save(nodes, {"x": [1, 16, 8, 8]}, [weight("w", 4, 16, 3, 3), *parts]))
    assert made.op_names == ("n_c: conv2d+batch_norm+relu",) and made.flops.tolist() == [2.0 * 4 * 16 * 144]
    reads, writes = moved(made, made.op_names[0])
    assert reads == {"x": 4096, "w": 2304, "scale": 16, "bias": 16, "mean": 16, "var": 16} and writes == {"y": 256}
    assert set(made.kinds) == {"input", "weight", "output"} and made.name == "model"


def test_a_block_of_attention_is_what_the_module_gives(save):
    """By hand, with the shapes of the reshapes computed in the graph: operation for operation the program of the module."""

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.query, self.key = torch.nn.LayerNorm(8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x):
            x = self.norm(x)
            q, k = (part(x).view(x.shape[0], 5, 2, 4).transpose(1, 2) for part in (self.query, self.key))
            p = torch.softmax(q @ k.transpose(2, 3) * 0.5, -1)
            return (p @ q).transpose(1, 2).reshape(x.shape[0], 5, 8)

    nodes = [
        node("LayerNormalization", "x g b", "n", epsilon=1e-5), node("Shape", "x", "all"), node("Gather", "all zero", "first"),
        node("Concat", "first heads", "to", axis=0), node("Concat", "first flat", "back", axis=0),
        *(each for p in "qk" for each in (
            node("Reshape", "n rows", f"{p}0"), node("Gemm", f"{p}0 {p}w {p}b", f"{p}1", transB=1),
            node("Reshape", f"{p}1 to", f"{p}2"), node("Transpose", f"{p}2", p, perm=[0, 2, 1, 3]))),
        node("Transpose", "k", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q kt", "s"), node("Mul", "s half", "s2"),
        node("Softmax", "s2", "p", axis=-1), node("MatMul", "p q", "o"), node("Transpose", "o", "ot", perm=[0, 2, 1, 3]),
        node("Reshape", "ot back"),
    ]  # fmt: skip
    sizes = [integers("zero", 0), integers("heads", 5, 2, 4), integers("flat", 5, 8), integers("rows", -1, 8)]
    weights = [weight("g", 8), weight("b", 8), *(weight(f"{p}w", 8, 8) for p in "qk"), *(weight(f"{p}b", 8) for p in "qk")]
    half = helper.make_tensor("half", FLOAT, [], [0.5])
    path = save(nodes, {"x": ["batch", 5, 8]}, [*sizes, *weights, half])
    with torch.device("meta"):
        module = trace(Block().eval(), [torch.empty(3, 5, 8)])
    made = trace_onnx(path, batch=3)
    assert same_work(made, module) and made.name == "model-b3" and not set(made.tensor_names) & {"zero", "heads", "half"}


@pytest.mark.long
@pytest.mark.parametrize("name", ["resnet50", "vit"])
def test_models_that_pytorch_exports(name, tmp_path):
    """Unoptimised exports are, operation by operation, what tracing the module gives; the file's weights are not needed."""
    pytest.importorskip("onnxscript", reason="onnxscript, which the exporter of PyTorch needs, is not installed")
    from corl.problems.memory.tracing.models import build

    model, inputs = build(name, 1)
    model = model.to_empty(device="cpu")
    example = tuple(torch.zeros_like(each, device="cpu") for each in inputs)
    exported = torch.onnx.export(model, example, dynamo=True, optimize=False, verbose=False)
    exported.save(str(tmp_path / "model.onnx"), external_data=True)
    (tmp_path / "model.onnx.data").unlink()
    made, traced = trace_onnx(tmp_path / "model.onnx"), trace_model(model=name, dtype="float32")
    assert made.ops == traced.ops and made.flops.tolist() == traced.flops.tolist()
    assert made.access_bytes.sum() == traced.access_bytes.sum() and made.sizes.sum() == traced.sizes.sum()


CASES = {
    "views are free": ([node("Transpose", "x", "t"), node("Slice", "t one two", "s"), node("Relu", "s")], ["n_y: relu"], 8 + 8),
    "a split": (
        [helper.make_node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2), node("MatMul", "a b")],
        ["n_y: matmul"],
        16 + 16 + 16,
    ),
    "a row of a table": ([node("Gather", "x one", "r"), node("Relu", "r")], ["n_r: embedding+relu"], 12 + 12),
    "constants": ([node("Add", "one two", "three"), node("Cast", "three", "f", to=FLOAT), node("Mul", "x f")], ["n_y: mul"], 48),
    "one operation": ([node("Clip", "x", min=0.0, max=6.0)], ["n_y: clamp"], 48),
    "a sum": ([node("ReduceMean", "x", axes=[1])], ["n_y: mean"], 24 + 8),
    "padding": ([node("Pad", "x pads")], ["n_y: pad"], 24 + 40),
    "a norm": ([node("ReduceL2", "x", axes=[1])], ["n_y: norm"], 24 + 8),
}


@pytest.mark.parametrize("case", CASES)
def test_bytes_of_operators(save, case):
    """Of a 2 x 3 input, 2 x 4 where it is split: read and written, together."""
    nodes, names, count = CASES[case]
    sizes = [integers("one", 1), integers("two", 2), integers("pads", 0, 1, 0, 1)]
    shape, opset = ([2, 4], 18) if case == "a split" else ([2, 3], 11 if "axes" in str(nodes) else 13)
    made = trace_onnx(save(nodes, {"x": shape}, sizes, opset=opset))
    assert (list(made.op_names), int(made.access_bytes.sum())) == (names, count)


def test_padding_on_one_side_moves_no_bytes(save):
    """What other frameworks call SAME: the output as large as with padding, the input read once."""
    nodes = [node("Conv", "x w", auto_pad="SAME_UPPER", strides=[2, 2])]
    made = trace_onnx(save(nodes, {"x": [1, 1, 8, 8]}, [weight("w", 1, 1, 3, 3)]))
    assert moved(made, "n_y: conv2d") == ({"x": 256, "w": 36}, {"y": 64})


def test_symbolic_dimensions(save):
    """The first of an input is the batch, others have to be named; names that there are not are refused."""
    path = save([node("Relu", "x")], {"x": ["n", "length", 4]})
    with pytest.raises(InputError, match=r"input 'x': dimension 1 is symbolic.*dimensions=length="):
        trace_onnx(path)
    assert trace_model(model=str(path), batch=2, dimensions="length=3").sizes.tolist() == [96, 96]
    assert trace_onnx(path, 2, {"n": 5, "length": 3}).sizes.tolist() == [240, 240]
    for wrong in ("length=3,width=4", "length", "length=0"):
        with pytest.raises(UsageError, match="accepted"):
            trace_model(model=str(path), dimensions=wrong)
    with pytest.raises(UsageError, match="an ONNX file fixes its types"):
        trace_model(model=str(path), dtype="float16")
    with pytest.raises(UsageError, match="with an ONNX file"):
        trace_model(model="alexnet", dimensions="n=1")


def test_solve_and_trace_take_files(save, tmp_path, capsys):
    """`corl trace model.onnx`, for both problems, and `corl.solve` of the file; external data may be missing."""
    path = save([node("MatMul", "x w", "h"), node("Softmax", "h")], {"x": ["n", 4]}, [weight("w", 4, 4)], external=True)
    (tmp_path / "model.data").unlink()
    assert main(["trace", str(path), "--batch", "2", "--output", str(tmp_path / "program.json")]) == 0
    made = Mapping().read(tmp_path / "program.json")
    assert made.op_names == ("n_h: matmul", "n_y: softmax") and "--batch 2" in made.comment
    result = corl.solve(str(path), problem="memory", solver="greedy-keep")
    assert result.objective < Mapping().describe(result.data)["all_slow_microseconds"]
    assert main(["trace", str(path), "--problem", "memory-static"]) == 0
    assert "h,0,2,16" in capsys.readouterr().out


FAULTS = {
    "another domain": (
        [helper.make_node("FusedMatMul", ["x", "x"], ["y"], "n_y", domain="com.microsoft")],
        "domain 'com.microsoft'",
    ),
    "an unknown operator": ([helper.make_node("GRU", ["x", "x", "x"], ["y"])], "this operator is not supported"),
    "a shape of data": ([node("Cast", "x", "s", to=INT64), node("Reshape", "x s")], "input 2 depends on data"),
    "a count of data": ([node("NonZero", "x")], "depends on data"),
    "shapes that do not fit": ([node("MatMul", "x x")], "cannot be run on meta tensors"),
    "a value that is not there": ([node("Relu", "q")], "no value 'q'"),
    "nothing computed": ([node("Reshape", "x size")], "at least one operation"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_end_in_one_line_and_exit_code_3(save, capsys, fault):
    """With the file, and what is accepted."""
    nodes, said = FAULTS[fault]
    path = save(nodes, {"x": [2, 3]}, [integers("size", 3, 2)], domain="com.microsoft")
    assert main(["trace", str(path)]) == 3
    line = capsys.readouterr().err.strip()
    assert said in line and str(path) in line and "accepted" in line and "\n" not in line


@pytest.mark.parametrize("content", [b"", b"no protocol buffer", b"\x08\x08", b"{}"])
def test_files_that_are_no_models(tmp_path, capsys, content):
    """Text, nothing, a header alone."""
    (tmp_path / "bad.onnx").write_bytes(content)
    assert main(["solve", str(tmp_path / "bad.onnx"), "--problem", "memory"]) == 3
    line = capsys.readouterr().err.strip()
    assert "no ONNX file" in line and "bad.onnx" in line and "\n" not in line
    assert main(["trace", str(tmp_path / "none.onnx")]) == 3
