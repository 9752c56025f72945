"""NetworkPolicy: the base class of networks that return logits of the listed actions, and a value."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from corl.deprecation import renamed, renamed_members
from corl.environment import Environment, View
from corl.errors import UsageError
from corl.networks.tokens import TokenBatch
from corl.policy import Evaluator
from corl.tokens import Tokens, joined, sizes_of

if TYPE_CHECKING:
    from corl.adapter import Problem

__all__ = ["Arrays", "NetworkPolicy", "Observer", "Shape"]

Arrays = Mapping[str, NDArray[Any]]
"""Name -> array; arrays of states have a leading axis of rows."""


class Shape(NamedTuple):
    """A recipe's request for a new network; an architecture ignores the entries that it has no use for."""

    features: str = ""
    """The name of the problem's features; "" for the first."""
    environment: str = ""
    """The name of the problem's environment; "" for the first."""
    width: int = 64
    layers: int = 2
    heads: int = 4
    options: Mapping[str, Any] = MappingProxyType({})
    """Values of some of the architecture's `NetworkPolicy.options`."""


@renamed_members({"look": "state_arrays", "see": "observe"})
class NetworkPolicy(nn.Module, abc.ABC):
    """A network that reads the states of one problem's environment; by default through one of the `Problem.features`.

    A subclass calls `super().__init__(problem, features)` and sets `config` and `has_value`. A checkpoint is loaded by
    `cls(**config)`. Training and evaluation call a network in this order:

        context = network.context(environment, i)           # arrays of instance i that stay the same in an episode
        observed = network.observe(environment.view(rows))  # arrays of states; a replay keeps both
        batch = network.collate([context], [observed], which)  # tensors; which[r]: the context of row r
        logits, values = network(batch)

    A network that encodes each instance once overrides `context`, `state_arrays` and `collate`; a network with a compiled forward
    pass also overrides `on`.
    """

    architecture: ClassVar[str]
    """Its entry-point name in the group `corl.networks`."""
    options: ClassVar[tuple[str, ...]] = ()
    """The arguments of the constructor that a user may set by the option `network_options` of a recipe."""
    config: dict[str, Any]
    """The keyword arguments of the constructor, as JSON values, including "problem" and "features"."""
    has_value: bool = False
    """Whether the network's values are meaningful; otherwise they are 0."""
    extra: int = 0
    """The number of tokens, after those of the slots, that belong to no slot."""
    file: str = ""
    """The checkpoint from which the network was loaded; "" if it was not."""

    def __init__(self, problem: str, features: str, environment: str = "") -> None:
        super().__init__()
        self.problem, self.features, self.environment = problem, features, environment

    @classmethod
    def sized(cls, problem: Problem, instance: Any, shape: Shape) -> NetworkPolicy:
        """Return a new network for instances like this one. Raises UsageError if recipes cannot create this architecture."""
        raise UsageError(f"no recipe makes a new network of the architecture {cls.architecture!r}; start from a checkpoint")

    @abc.abstractmethod
    def forward(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return logits float32 [R, K], -inf in empty slots, and values float32 [R], in the units of the rows ("scale").

        `batch` is a result of `collate`.
        """

    def imitated(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return the logits and values that imitation of a solver trains; by default those of `forward`.

        A network overrides this if its policy is more than what it imitates.
        """
        logits, values = self(batch)
        return logits, values

    def on(self, environment: Environment) -> Evaluator:
        """Return the evaluator for an environment. The network must be in evaluation mode, as `corl.load_policy` returns it."""
        return Observer(self, environment)

    def context(self, environment: Environment, which: int) -> Arrays:
        """Return the part of the network's input that is constant in an episode of instance number `which`; by default none."""
        return {}

    def observe(self, view: View) -> Arrays:
        """Return `state_arrays` of a view, computed only once for all networks of one class with the same features."""
        return view.derived((type(self), self.problem, self.features, self.environment), self.state_arrays)

    def state_arrays(self, view: View) -> Arrays:
        """Return the network's input for R states: arrays with a leading axis R, including "scale" [R], the unit of values.

        By default these are the Tokens of the network's features. Raises UsageError if the problem has no such features, or if
        the sizes of the tokens differ from "inputs", "pairs" and "extra" in `config`.
        """
        tokens = self.tokens(view.arrays)
        for name, size in sizes_of(tokens, view.environment.width).items():
            own_size = self.config.get(name, size)
            if own_size != size and (name, own_size) != ("pairs", 0):  # a network may ignore pairs
                who = f"{self.file}: the network" if self.file else f"the {self.architecture} network"
                raise UsageError(f"{who} has {name} {own_size}; accepted: {size}, as {self.problem} shows in {self.features}")
        return tokens.arrays()

    def tokens(self, observation: Arrays) -> Tokens:
        """Return the tokens of an observation. Raises UsageError if the problem has no such features."""
        from corl.registry import problem

        known = problem(self.problem).features
        if self.features not in known:
            raise UsageError(f"{self.problem} has no features {self.features!r}; accepted: {', '.join(known) or 'none'}")
        return known[self.features](observation)

    def collate(self, contexts: Sequence[Arrays], observed: Sequence[Arrays], which: NDArray[np.int64]) -> Any:
        """Return the argument of `forward` for the rows of all parts, on the network's device; by default a TokenBatch.

        Args:
            contexts: The contexts of the instances.
            observed: The parts, as returned by `observe`. They may differ in the number of slots, as instances differ in size;
                they are padded to the greatest number.
            which: int64 [R], for each row the index of its instance's context in `contexts`.
        """
        arrays, device = joined(observed, self.extra), next(self.parameters()).device
        x, mask = (torch.from_numpy(arrays[name]).to(device) for name in ("x", "mask"))
        return TokenBatch(x, mask, torch.from_numpy(arrays["pairs"]).to(device) if "pairs" in arrays else None)

    def infer(self, contexts: Sequence[Arrays], which: NDArray[np.int64], observed: Arrays) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return logits float32 [R, K] and values float64 [R], in the environment's units, of R states.

        The other rows change the results of a row by no more than rounding.

        Args:
            contexts: The contexts of the instances.
            which: int64 [R], for each row the index of its instance's context in `contexts`.
            observed: The arrays that `observe` returned.
        """
        with torch.inference_mode():
            logits, values = self(self.collate(contexts, [observed], which))
        return logits.float().cpu().numpy(), values.double().cpu().numpy() * observed["scale"]


class Observer:
    """A NetworkPolicy on the pool of an environment (corl.policy.Evaluator); it computes each instance's context only once."""

    def __init__(self, policy: NetworkPolicy, environment: Environment) -> None:
        self.policy, self.environment = policy, environment
        self._contexts: dict[int, Arrays] = {}
        self._encodes = type(policy).context is not NetworkPolicy.context

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator."""
        return self.policy.infer(*self.instances(view.rows), self.policy.observe(view))

    def instances(self, rows: NDArray[np.int64]) -> tuple[list[Arrays], NDArray[np.int64]]:
        """Return the contexts of the instances of `rows` [R], and for each row the index of its context, int64 [R]."""
        if not self._encodes:
            return [{}], np.zeros(len(rows), np.int64)
        numbers, which = np.unique(self.environment.instance_of(rows), return_inverse=True)
        for number in numbers.tolist():
            if number not in self._contexts:
                self._contexts[number] = self.policy.context(self.environment, number)
        return [self._contexts[number] for number in numbers.tolist()], which.astype(np.int64)


if not TYPE_CHECKING:
    __getattr__ = renamed(__name__, {"Policy": "NetworkPolicy"})
