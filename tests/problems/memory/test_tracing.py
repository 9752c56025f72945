"""Tracing: views are free and copies are not, updates in place form alias groups, FLOPs are PyTorch's, fusion by rules.

Bytes and FLOPs are worked out by hand; float32 has four bytes.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl.errors import InputError
from corl.problems.memory.evaluation import run_plan
from corl.problems.memory.problem import Mapping
from corl.problems.memory.tracing import trace, trace_model
from corl.problems.memory_static.lifetimes import buffers_of

functional = torch.nn.functional


class _Model(torch.nn.Module):
    """A module whose forward is a function of itself and its inputs."""

    def __init__(self, function, parts=None, states=None):
        super().__init__()
        self.function, self.parts = function, torch.nn.ModuleDict(parts or {})
        for name, shape in (states or {}).items():
            self.register_buffer(name, torch.zeros(shape))

    def forward(self, *inputs):
        return self.function(self, *inputs)


def program(function, *shapes, parts=None, states=None):
    """The program of a function of tensors of float32 with these shapes."""
    with torch.device("meta"):
        made = {name: part() for name, part in (parts or {}).items()}
        model = _Model(function, made, states).eval()
        return trace(model, [torch.empty(shape) for shape in shapes])


def accesses(instance, i):
    """({tensor: bytes read}, {tensor: bytes written}) of an operation."""
    parts = ({}, {})
    for a in range(instance.access_first[i], instance.access_first[i + 1]):
        name = instance.tensor_names[instance.access_tensor[a]]
        parts[int(instance.access_write[a])][name] = int(instance.access_bytes[a])
    return parts


def sizes_of(instance, kind):
    return sorted(int(size) for size, k in zip(instance.sizes, instance.kinds) if k == kind)


def test_views_are_free_and_layout_copies_are_not():
    """A transposed view is read by the product itself; `contiguous` of it reads and writes 4 * 8 * 4 bytes."""
    free = program(lambda m, x, y: x.t() @ y.view(8, 3), (8, 4), (24,))
    assert free.op_names == ("matmul",)
    assert free.flops.tolist() == [2.0 * 4 * 3 * 8] and free.matrix.tolist() == [True]
    copied = program(lambda m, x: torch.tanh(x.t().contiguous().view(32)), (8, 4))
    assert copied.op_names == ("clone+tanh",)
    assert [list(part.values()) for part in accesses(copied, 0)] == [[128], [128]]
    assert copied.flops.tolist() == [4.0 * 32]


def test_reshape_copies_only_where_it_must():
    assert program(lambda m, x: x.reshape(32) + 1, (8, 4)).op_names == ("add",)
    assert program(lambda m, x: x.t().reshape(32) + 1, (8, 4)).op_names == ("clone+add",)


def test_a_conversion_is_elementwise_and_broadcast_views_are_read_once():
    """Four values spread over 8 x 4: 16 bytes are read of them, and the conversion is part of the sum's operation."""
    made = program(lambda m, x, y: (x + y.expand(8, 4)).to(torch.float16), (8, 4), (4,))
    assert made.op_names == ("add+_to_copy",)
    assert sorted(accesses(made, 0)[0].values()) == [16, 128] and list(accesses(made, 0)[1].values()) == [64]


def test_parts_of_a_tensor():
    """Each third of a projection is read by its own operation; the same part twice counts once."""
    made = program(lambda m, x: [part * part for part in torch.exp(x).chunk(3, 1)], (2, 12))
    assert made.op_names == ("exp", "mul", "mul", "mul")
    assert [list(accesses(made, i)[0].values()) for i in range(4)] == [[96], [32], [32], [32]]


def test_update_in_place_is_an_alias_group():
    """`y` is read before it is updated, so that old and new contents are two tensors that share their memory."""

    def function(m, x):
        y = torch.softmax(x, 1)
        z = torch.cumsum(y, 1)
        y.add_(z)
        return torch.cumsum(y, 1), z

    made = program(function, (4, 8))
    names = dict(zip(made.tensor_names, made.group))
    assert made.op_names == ("softmax", "cumsum", "add", "cumsum")
    assert names["softmax"] == names["add"] >= 0
    assert [g for name, g in names.items() if name not in ("softmax", "add")] == [-1] * 3
    assert accesses(made, 2) == ({"softmax": 128, "cumsum": 128}, {"add": 128})


def test_update_of_a_part_keeps_the_rest():
    """Eight of 32 elements are written; the old contents have to be there, but nothing of them is read."""

    def function(m, x, y):
        z = torch.cumsum(x, 1)
        z[:, :2] = y
        return torch.cumsum(z, 1)

    made = program(function, (4, 8), (4, 2))
    assert made.op_names == ("cumsum", "copy", "cumsum")
    assert accesses(made, 1) == ({"inputs_1": 32, "cumsum": 0}, {"copy": 32})
    assert made.group[made.tensor_names.index("cumsum")] == made.group[made.tensor_names.index("copy")] >= 0


def test_state_is_an_input_and_an_output_of_one_group():
    """A counter that is updated has to be in slow memory at the end, in the same memory as before."""

    def function(m, x):
        m.count += x
        return torch.cumsum(m.count, 0)

    made = program(function, (8,), states={"count": (8,)})
    kinds = dict(zip(made.tensor_names, made.kinds))
    assert kinds["count"] == "weight" and kinds["add"] == "output"
    assert made.group[made.tensor_names.index("count")] == made.group[made.tensor_names.index("add")] == 0


def test_overwritten_scratch_is_a_tensor_of_its_own():
    """What is overwritten whole is neither read nor tied to what was there."""

    def function(m, x, y):
        z = torch.cumsum(x, 0)
        first = torch.softmax(z, 0)
        z.copy_(y)
        return first, torch.cumsum(z, 0)

    made = program(function, (8,), (8,))
    assert made.group.tolist() == [-1] * made.tensors
    assert "cumsum" not in accesses(made, 2)[0] and made.op_names[2] == "copy"


def test_scatter_into_zeros_writes_everything_and_reads_no_zeros():
    def function(m, x):
        return torch.zeros(6, 4, device=x.device).index_add_(0, torch.arange(2, device=x.device).expand(2) * 0, x)

    made = program(function, (2, 4))
    assert made.op_names == ("index_add",) and list(accesses(made, 0)[1].values()) == [96]
    assert made.flops.tolist() == [8.0]
    assert sorted(made.kinds) == ["input", "output", "weight"]  # the indices are computed beforehand


def test_batch_normalisation_in_training_updates_its_statistics():
    """Two states of 3 x 4 bytes are read and written; in evaluation it is part of the convolution."""
    parts = {"conv": lambda: torch.nn.Conv2d(2, 3, 3, padding=1, bias=False), "norm": lambda: torch.nn.BatchNorm2d(3)}
    made = program(lambda m, x: torch.relu_(m.parts["norm"](m.parts["conv"](x))), (1, 2, 4, 4), parts=parts)
    assert made.op_names == ("parts.conv: conv2d+batch_norm+relu",)
    with torch.device("meta"):
        model = _Model(lambda m, x: m.parts["norm"](x), {"norm": torch.nn.BatchNorm2d(3)}).train()
        made = trace(model, [torch.empty(1, 3, 4, 4)])
    assert sizes_of(made, "output") == [8, 12, 12, 192]  # how many batches there were, mean, variance, and the result
    assert sorted(made.group.tolist()) == [-1, -1, -1, -1, 0, 0, 1, 1, 2, 2]


def test_tied_weights_are_one_tensor():
    def tied():
        pair = torch.nn.Sequential(torch.nn.Embedding(10, 4), torch.nn.Linear(4, 10, bias=False))
        pair[1].weight = pair[0].weight
        return pair

    with torch.device("meta"):
        made = trace(_Model(lambda m, x: m.parts["pair"](x), {"pair": tied()}), [torch.empty((3,), dtype=torch.int64)])
    assert sizes_of(made, "weight") == [160]
    assert accesses(made, 0)[0][made.tensor_names[made.kinds.index("weight")]] == 3 * 4 * 4  # the rows of three words


def test_elementwise_steps_join_their_producer_and_reductions_join_elementwise_steps():
    """Rules 1 and 2 of fusion.py; the second reader of a product keeps it in memory."""
    chain = program(lambda m, x, y, z: torch.softmax(torch.tanh((x @ y) * 2 + z), 1), (4, 4), (4, 4), (4, 4))
    assert chain.op_names == ("matmul+mul+add+tanh", "softmax")
    square = program(lambda m, x: x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1), (4, 8))
    assert square.op_names == ("pow+mean+add+rsqrt", "mul")
    assert list(accesses(square, 0)[1].values()) == [16]
    twice = program(lambda m, x, y: (lambda p: (torch.tanh(p), torch.cumsum(p, 0)))(x @ y), (4, 4), (4, 4))
    assert twice.op_names == ("matmul", "tanh", "cumsum")


def test_elementwise_operations_flow_together():
    """Both factors are elementwise in the product, which is read once."""
    made = program(lambda m, x, y: (lambda p: (p * 0.5) * (torch.tanh(p) + 1))(x @ y), (4, 4), (4, 4))
    assert made.op_names == ("matmul", "mul+tanh+add+mul")
    assert list(accesses(made, 1)[0].values()) == [64] and made.flops[1] == (1 + 4 + 1 + 1) * 16


def test_fusion_waits_for_no_update_of_what_it_reads():
    """tanh(x) could join the product of x only behind the update of x, which it may not pass."""

    def function(m, x, y):
        z = torch.cumsum(x, 1)
        product, other = z @ y, torch.cumsum(y, 1)
        z.mul_(2.0)
        return product + torch.cumsum(other, 1) * 3, torch.cumsum(z, 1)

    made = program(function, (4, 4), (4, 4))
    order = {name: i for i, name in enumerate(made.op_names)}
    assert made.op_names[1] == "matmul" and order["mul"] > 1  # the product stays before the update
    reads = [accesses(made, i)[0] for i in range(made.ops)]
    assert "cumsum" in reads[1] and "cumsum" in reads[order["mul"]]


def _call(model, x):
    return model.parts["it"](x)


NOTHING = torch.nn.Identity
CASES = {
    "grouped": (_call, lambda: torch.nn.Conv2d(8, 12, 3, groups=4), (2, 8, 9, 9), 2 * 12 * 49 * 2 * 2 * 9),
    "transposed": (_call, lambda: torch.nn.ConvTranspose2d(8, 6, 2, 2), (2, 8, 5, 5), 2 * 2 * 8 * 25 * 6 * 4),
    "strided": (_call, lambda: torch.nn.Conv1d(8, 6, 3, 2), (2, 8, 9), 2 * 2 * 6 * 4 * 8 * 3),
    "linear": (_call, lambda: torch.nn.Linear(8, 5), (3, 7, 8), 2 * 3 * 7 * 5 * 8),
    "attention": (lambda m, x: functional.scaled_dot_product_attention(x, x, x), NOTHING, (2, 3, 7, 8), 4 * 2 * 3 * 7 * 7 * 8),
    "einsum": (lambda m, x: torch.einsum("bij,bkj->bik", x, x), NOTHING, (2, 3, 5), 2 * 2 * 3 * 3 * 5),
}


@pytest.mark.parametrize("case", CASES)
def test_matrix_flops_by_hand_and_by_pytorch(case):
    from torch.utils.flop_counter import FlopCounterMode

    from corl.problems.memory.tracing.recording import export, record

    function, part, shape, expected = CASES[case]
    with torch.device("meta"):
        model, x = _Model(function, {"it": part()}).eval(), torch.empty(shape)
        with FlopCounterMode(display=False) as counter:
            model(x)
    steps = record(export(model, [x])).steps
    assert sum(step.cost.matrix for step in steps) == expected == counter.get_total_flops()


def test_vector_flops_by_hand():
    parts = {"norm": lambda: torch.nn.LayerNorm(8), "pool": lambda: torch.nn.MaxPool1d(2)}
    made = program(lambda m, x: (m.parts["norm"](x), m.parts["pool"](x), x.sum(1), torch.sigmoid(x) * 2), (4, 8), parts=parts)
    assert made.flops.tolist() == [8.0 * 32, 2.0 * 16, 32.0, 6.0 * 32] and not made.matrix.any()


def test_lifetimes_leave_weights_out_and_join_updates():
    """A state in place is a weight; the updated activation is one buffer from its making to its last reader."""

    def function(m, x):
        y = torch.softmax(x, 1)
        z = torch.cumsum(y, 1)
        y.add_(z)
        return torch.cumsum(y, 1), z

    with torch.device("meta"):
        made = buffers_of(trace(_Model(function), [torch.empty(4, 8)]), alignment=64)
    rows = list(zip(made.ids, made.lower.tolist(), made.upper.tolist(), made.size.tolist()))
    assert [row[1:] for row in rows] == [(0, 1, 128), (0, 4, 128), (1, 4, 128), (3, 4, 128)]
    assert made.alignment.tolist() == [64] * 4


def test_a_traced_program_is_accepted_by_the_judge(tmp_path):
    """All-slow is the sum of the rooflines; the file gives the same program; a plan that keeps something is faster."""
    import corl

    made = program(lambda m, x, y: torch.softmax(torch.cumsum(x @ y, 1), 1), (64, 64), (64, 64))
    nothing = (np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64))
    slow = run_plan(made, nothing)
    memory = np.bincount(made.access_op, made.access_bytes) / made.machine.slow_bandwidth
    assert slow.total == pytest.approx(np.maximum(memory, made.compute).sum(), rel=1e-12)
    Mapping().write(made, tmp_path / "program.json.gz")
    again = Mapping().read(tmp_path / "program.json.gz")
    assert again.tensor_names == made.tensor_names and np.array_equal(again.access_bytes, made.access_bytes)
    result = corl.solve(again, problem="memory", solver="greedy-keep")
    assert result.objective < 1e6 * slow.total


def test_models_are_instances_themselves():
    """`corl.solve` takes a module and its inputs, or an exported program."""
    import corl

    with torch.device("meta"):
        model, x = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)), torch.empty(4, 8)
    one = corl.solve((model, (x,)), problem="memory", solver="all-slow")
    other = corl.solve(torch.export.export(model, (x,)), problem="memory", solver="all-slow")
    assert one.objective == other.objective > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "model", "head"), [("BertModel", "bert", 0), ("ResNetForImageClassification", "resnet50", 2048)]
)
def test_transformers_architectures_agree_with_ours(name, model, head):
    """As many operations and the same FLOPs, but for the 2 classes, not 1000, of the default configuration."""
    pytest.importorskip("transformers", reason="the extra `trace` is not installed")
    theirs, ours = trace_model(model=name), trace_model(model=model)
    assert theirs.ops == ours.ops
    assert theirs.flops[theirs.matrix].sum() == ours.flops[ours.matrix].sum() - 2 * head * 998


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda m, x: x[x > 0], "cannot be exported|meta tensors|is not supported"),
        (lambda m, x: x if x.sum() > 0 else -x, "cannot be exported"),
        (lambda m, x: x.t(), "at least one operation"),
    ],
)
def test_models_that_cannot_be_traced(function, message):
    with pytest.raises(InputError, match=message) as caught:
        program(function, (4, 4))
    assert "\n" not in str(caught.value)
