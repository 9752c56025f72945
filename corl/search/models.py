"""The models of tree searches, with one interface: a simulator with a policy (AlphaZero), or a learned model (MuZero).

    environment = problem.environment(instances, rows=rows_needed(trees, simulations))
    model = SimulatorModel(environment, policy.on(environment), first=trees)      # rows 0..trees-1 are the roots
    result = Gumbel(simulations=64).search(model, roots=np.arange(trees), keys=0)
    environment.step(rows, rows, result.action)

A model stores the state of each node. The slot of a node is tree * (nodes of a tree) + node; node 0 is the root of its tree.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl import hooks
from corl.environment import Environment, View
from corl.errors import SolverError, UsageError
from corl.jit import kernel
from corl.policy import Evaluator
from corl.rng import mix
from corl.search.tree import Trees, new_trees

__all__ = ["Expansion", "LatentNetwork", "LearnedModel", "Model", "SimulatorModel", "rows_needed"]


class Expansion(NamedTuple):
    """A model's answer for R new nodes. W is the model's `width`."""

    reward: NDArray[np.float64]
    """[R] the reward of the step into the node; 0 for roots."""
    done: NDArray[np.bool_]
    """[R] whether the episode is over; if so, actions, logits and value of the row are undefined."""
    actions: NDArray[np.int32]
    """[R, W] action ids, -1 after the last."""
    logits: NDArray[np.float32]
    """[R, W] the logits of these actions; an action is masked by -inf, or anything below -1e30."""
    value: NDArray[np.float64]
    """[R] the expected sum of the remaining rewards, in the unit of `reward`."""


class Model(abc.ABC):
    """The interface of models for corl.search.gumbel and corl.search.puct. A model serves one search at a time."""

    width: int
    """W, the greatest number of actions of a node."""
    _trees: Trees | None = None

    @abc.abstractmethod
    def root(self, roots: Any, nodes: int, keys: NDArray[np.uint64]) -> Expansion:
        """Begin a search with one tree of up to `nodes` nodes for each of B `roots`, and evaluate the roots.

        A tree draws the random events of its steps from its key in `keys`, uint64 [B], not from the key of the true episode.
        """

    @abc.abstractmethod
    def expand(self, parents: NDArray[np.int64], actions: NDArray[np.int32], children: NDArray[np.int64]) -> Expansion:
        """Make the nodes in slots `children` [R] from those in slots `parents` [R] by `actions` [R], and evaluate them.

        All children are new and different. In one batch, the network evaluates those whose episode is not over.
        """

    def trees(self, count: int, nodes: int, width: int) -> Trees:
        """Return the arrays of a search; later searches reuse them, as allocating them would cost more than a small search."""
        trees = self._trees
        if trees is None or trees.root_action.shape[1] != self.width or trees.child.shape != (count, nodes, width):
            self._trees = trees = new_trees(count, nodes, width, self.width)
        return trees


class LatentNetwork(Protocol):
    """The interface of a network for LearnedModel; everything is a torch tensor, on the network's own device.

    Its actions are the ids 0..slots-1; an id means the same action (an item, a city) in a whole episode. The search calls it
    without gradients. Rewards and values have the same unit, which may be any: the search only compares them.
    """

    slots: int
    """A, the number of actions."""

    def initial(self, observed: Mapping[str, NDArray[Any]], /) -> tuple[Any, Any, Any]:
        """Return latent states and predictions for R observations: (latent float [R, ...], logits [R, A], value [R])."""

    def recurrent(self, latent: Any, actions: Any, /) -> tuple[Any, Any, Any, Any]:
        """Take int64 `actions` [R]; return predictions after them: (latent [R, ...], reward [R], logits [R, A], value [R])."""


def rows_needed(trees: int, simulations: int) -> int:
    """Return how many rows of an environment a search with SimulatorModel needs if its roots are rows 0..trees-1."""
    return trees * (1 + simulations)


class SimulatorModel(Model):
    """The environment as its own model, with a policy that evaluates states: AlphaZero.

    Roots are B rows of the environment below `first`, which are not changed. The other nodes overwrite rows from `first` on, of
    which B * simulations are needed (UsageError otherwise). Random events are drawn from a separate key for each node, not from
    the key of the root's row.
    """

    def __init__(self, environment: Environment, evaluator: Evaluator, first: int) -> None:
        self.evaluator, self.width = evaluator, environment.width
        self.pool = _Pool(environment, first)

    def root(self, roots: ArrayLike | View, nodes: int, keys: NDArray[np.uint64]) -> Expansion:
        """See Model.root; `roots` are rows [B], or their view if no episode is over."""
        if isinstance(roots, View):
            _, reward, done, actions = self.pool.root(roots.rows, nodes, keys)
            return _checked(Expansion(reward, done, actions, *self.evaluate(roots)))
        return self._evaluated(*self.pool.root(roots, nodes, keys))

    def expand(self, parents: NDArray[np.int64], actions: NDArray[np.int32], children: NDArray[np.int64]) -> Expansion:
        """See Model.expand. Raises SolverError if the policy returns NaN."""
        return self._evaluated(*self.pool.expand(parents, actions, children))

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return logits float32 [R, W] and values float64 [R] of states whose episodes are not over."""
        return self.evaluator.evaluate(view)

    def _evaluated(self, rows: Any, reward: Any, done: Any, actions: Any) -> Expansion:
        """Return the expansion of rows; the policy evaluates the rows whose episodes are not over."""
        live = np.flatnonzero(~done)
        if len(live) == len(rows):
            return _checked(Expansion(reward, done, actions, *self.evaluate(self._view(rows, actions))))
        logits = np.full(actions.shape, -np.inf, np.float32)
        value = np.zeros(len(rows))
        if len(live):
            logits[live], value[live] = self.evaluate(self._view(rows[live], actions[live]))
        return _checked(Expansion(reward, done, actions, logits, value))

    def _view(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> View:
        return self.pool.environment.view(rows, actions)


class LearnedModel(Model):
    """A network with learned dynamics of latent states: MuZero.

    Roots are a pair (observation, actions): the network's input for R rows, a dict of arrays, and the actions that the
    environment lists, int32 [R, K], -1 after the last. Only the listed actions are legal at the root. Below the root, all of the
    network's A actions may be taken, and no episode ends.
    """

    def __init__(self, network: LatentNetwork) -> None:
        self.network, self.width = network, network.slots
        self._latent: Any = None  # tensor [trees * nodes of a tree, ...], the latent state of each node

    def root(self, roots: tuple[Mapping[str, Any], NDArray[np.int32]], nodes: int, keys: NDArray[np.uint64]) -> Expansion:
        """See Model.root; `roots` is (observation, actions). The keys are not used."""
        import torch

        observed, listed = roots
        listed = np.asarray(listed, np.int32)
        if listed.shape[0] != len(keys) or listed.shape[1] > self.width or (listed >= self.width).any():
            raise UsageError(f"actions are {len(keys)} rows of at most {self.width} ids below {self.width}, -1 after the last")
        with torch.no_grad():
            latent, logits, value = self.network.initial(observed)
        self._latent = latent.new_zeros((len(keys), nodes, *latent.shape[1:]))
        self._latent[:, 0] = latent
        self._latent = self._latent.flatten(0, 1)
        actions = np.full((len(keys), self.width), -1, np.int32)
        actions[:, : listed.shape[1]] = listed
        listed_logits = np.take_along_axis(_float32(logits), np.maximum(actions, 0), axis=1)
        return _checked(Expansion(np.zeros(len(keys)), actions[:, 0] < 0, actions, listed_logits, _float64(value)))

    def expand(self, parents: NDArray[np.int64], actions: NDArray[np.int32], children: NDArray[np.int64]) -> Expansion:
        """See Model.expand. Raises SolverError if the network returns NaN."""
        import torch

        with torch.no_grad():
            parent_latent = self._latent[torch.from_numpy(parents).to(self._latent.device)]
            chosen_actions = torch.from_numpy(actions.astype(np.int64)).to(self._latent.device)
            latent, reward, logits, value = self.network.recurrent(parent_latent, chosen_actions)
            self._latent[torch.from_numpy(children).to(self._latent.device)] = latent
        all_actions = np.tile(np.arange(self.width, dtype=np.int32), (len(parents), 1))
        done = np.zeros(len(parents), np.bool_)
        return _checked(Expansion(_float64(reward), done, all_actions, _float32(logits), _float64(value)))


class _Pool:
    """Nodes of trees as rows of an environment: the roots are given rows, the other nodes are the rows from `first` on."""

    def __init__(self, environment: Environment, first: int) -> None:
        self.environment, self.first = environment, first
        self._rows = np.empty(0, np.int64)  # [trees * nodes of a tree] the row of each node
        self._keys = np.empty(0, np.uint64)  # [trees] the keys of random events
        self._nodes = 1  # the number of nodes of a tree

    def checked(self, roots: ArrayLike, room: int) -> NDArray[np.int64]:
        """Return `roots` as int64 [B]. Raises UsageError unless they are below `first` and `room` rows begin there."""
        rows = np.atleast_1d(np.asarray(roots))
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < self.first):
            raise UsageError(f"roots are rows from 0 to {self.first - 1}, in one dimension")
        if self.first + room > self.environment.rows:
            raise UsageError(f"this search needs {self.first + room} rows of the environment, which has {self.environment.rows}")
        return rows.astype(np.int64)

    def root(self, roots: ArrayLike, nodes: int, keys: NDArray[np.uint64]) -> tuple[Any, Any, Any, Any]:
        """Begin new trees; return (rows, reward, done, actions) of their roots."""
        trees = len(keys)
        root_rows = self.checked(roots, trees * (nodes - 1))
        self._nodes, self._keys = nodes, keys
        row_of_slot = np.empty((trees, nodes), np.int64)
        row_of_slot[:, 0] = root_rows
        row_of_slot[:, 1:] = self.first + np.arange(trees * (nodes - 1)).reshape(trees, -1)
        self._rows = row_of_slot.ravel()
        if not self.environment.compiled:
            listed = self.environment.actions(root_rows)
            return root_rows, np.zeros(trees), listed[:, 0] < 0, listed
        actions, done = np.empty((trees, self.width), np.int32), np.empty(trees, np.bool_)
        _list(self.environment.state, root_rows, actions, done)
        return root_rows, np.zeros(trees), done, actions

    def expand(self, parents: Any, actions: Any, children: Any) -> tuple[Any, Any, Any, Any]:
        """Make new nodes; return their (rows, reward, done, actions). Raises SolverError for an illegal action."""
        rows, count = self._rows[children], len(children)
        if not self.environment.compiled:
            rewards = self.environment.step(self._rows[parents], rows, actions)
            next_actions = self.environment.actions(rows)
            return rows, rewards, next_actions[:, 0] < 0, next_actions
        reward, done = np.empty(count), np.empty(count, np.bool_)
        listed = np.empty((count, self.width), np.int32)
        tree, node = np.divmod(children, self._nodes)
        _advance(self.environment.state, self._rows[parents], rows, actions, self._keys[tree], node, reward, done, listed)
        return rows, reward, done, listed

    @property
    def width(self) -> int:
        return self.environment.width


@kernel(inline=True)
def step_rekeyed(state: Any, src: Any, dst: Any, action: Any, key: Any, node: Any) -> Any:
    """Call hooks.step with random numbers from (key, node); the key of row `src` is unchanged."""
    node_key = mix(key ^ mix(np.uint64(node)))
    before = hooks.rekey(state, src, node_key)
    reward = hooks.step(state, src, dst, action)
    hooks.rekey(state, src, before)
    hooks.rekey(state, dst, node_key)
    return reward


@kernel
def _list(state: Any, rows: Any, actions: Any, done: Any) -> None:
    """Write the listed actions of each row, -1 after the last, and whether its episode is over."""
    for i in range(len(rows)):
        count = hooks.actions(state, rows[i], actions[i])
        actions[i, count:] = -1
        done[i] = count == 0


@kernel
def _advance(state: Any, src: Any, dst: Any, actions: Any, keys: Any, nodes: Any, reward: Any, done: Any, listed: Any) -> None:
    """Step from rows `src` to rows `dst`, and write rewards, listed actions and whether episodes are over."""
    for i in range(len(src)):
        reward[i] = step_rekeyed(state, src[i], dst[i], actions[i], keys[i], nodes[i])
    _list(state, dst, listed, done)


def _checked(found: Expansion) -> Expansion:
    """Return `found`. Raises SolverError if the network returned NaN."""
    if np.isnan(found.value).any() or np.isnan(found.reward).any() or np.isnan(found.logits).any():
        raise SolverError("the model returned NaN as a reward, a value or a logit")
    return found


def _float32(tensor: Any) -> NDArray[np.float32]:
    """Return a torch tensor as a NumPy array."""
    return np.asarray(tensor.detach().float().cpu().numpy(), np.float32)


def _float64(tensor: Any) -> NDArray[np.float64]:
    """Return a torch tensor as a NumPy array."""
    return np.asarray(tensor.detach().double().cpu().numpy(), np.float64)
