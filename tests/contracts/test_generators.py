"""Every generator of every registered problem: a seed gives the same bits, and options out of range are refused."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from examination import same
from specimen import fullest_format, generated, parameters

from corl import UsageError, options, registry
from corl.cli.main import main

GENERATORS = [
    (name, kind)
    for name in registry.problems()
    for kind, generate in registry.problem(name).generators.items()
    if all(p.default is not inspect.Parameter.empty for p in inspect.signature(generate).parameters.values())
]
SIZES = {
    "agents", "arcs", "arms", "bids", "columns", "commodities", "customers", "episodes", "facilities", "horizon", "items", "jobs",
    "knapsacks", "layers", "machines", "nodes", "ops", "periods", "rows", "size",
}  # fmt: skip
"""Options that an instance grows with."""
EACH = pytest.mark.parametrize(("name", "kind"), GENERATORS)


@EACH
def test_a_seed_gives_the_same_bits(name: str, kind: str, tmp_path: Path):
    """Twice the same instance, another from another seed, and of another size from another `size`; the comment of an instance is
    the command that makes it again."""
    known = inspect.signature(registry.problem(name).generators[kind]).parameters
    instance = generated(name, kind, seed=3)
    assert isinstance(instance, registry.problem(name).instance_type)
    assert same(instance, generated(name, kind, seed=3)) and instance.name == generated(name, kind, seed=3).name
    assert kind == "traced" or not same(instance, generated(name, kind, seed=4))
    if "size" in known:
        assert not same(instance, generated(name, kind, seed=3, size=60))
    command = getattr(instance, "comment", "").split()
    if command and kind != "traced":  # `corl trace` looks into a model
        file = tmp_path / f"a{fullest_format(name)}"
        assert command[:4] == ["corl", "generate", name, kind] and main([*command[1:], "--output", str(file)]) == 0
        assert same(instance, registry.problem(name).read(file))


@EACH
@pytest.mark.parametrize("wrong", [0, -1])
def test_sizes_out_of_range_are_refused(name: str, kind: str, wrong: int):
    """In a line that says what is accepted, for each whole number that an instance grows with."""
    for key in SIZES & parameters(name, kind).keys():
        with pytest.raises(UsageError, match=r"accepted: .+") as refusal:
            generated(name, kind, **{key: wrong})
        assert "\n" not in str(refusal.value)


def test_generators_are_called_as_users_do() -> None:
    """Texts are taken for numbers; an unknown option is named with those that there are."""
    name, kind = GENERATORS[0]
    generate: Any = registry.problem(name).generators[kind]
    texts = {key: str(value) for key, value in parameters(name, kind).items()}
    assert same(options.call(generate, texts), generated(name, kind))
    with pytest.raises(UsageError, match="'colour'"):
        options.call(generate, {"colour": 1})
