"""Replay: the latest moves, whose episodes stay in one piece, exact through a checkpoint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.learning import snapshots
from corl.learning.episodes import Episodes
from corl.learning.replay import Replay


def episodes_of(numbers, lengths, wide: int = 2) -> Episodes:
    """Episodes whose moves tell their number, with states of `wide` slots; the context of each is its first number."""
    lengths, numbers = np.asarray(lengths, np.int64), np.asarray(numbers)
    firsts = numbers[np.cumsum(lengths) - lengths] if len(numbers) else np.zeros(0)
    seen = {"x": numbers[:, None] + np.zeros((1, wide)), "scale": np.ones(len(numbers))}
    moves = {"number": numbers, "policy": np.ones((len(numbers), wide), np.float32)}
    return Episodes([{"first": first} for first in firsts], np.arange(len(lengths)), seen, moves, lengths, np.zeros(len(lengths)))


def filled(capacity: int, episodes: list[list[int]]) -> tuple[Replay, dict[int, tuple[int, int]]]:
    """A replay of episodes of the given lengths (added list by list), and move number -> (episode, step)."""
    replay, number, known, episode = Replay(capacity), 0, {}, 0
    for lengths in episodes:
        count = sum(lengths)
        replay.add(episodes_of(np.arange(number, number + count), lengths))
        for length in lengths:
            known |= {number + t: (episode, t) for t in range(length)}
            number, episode = number + length, episode + 1
    return replay, known


EPISODES = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=2), min_size=1, max_size=12)


@given(st.integers(12, 30), EPISODES, st.integers(0, 7))
def test_windows_stay_in_their_episode(capacity, episodes, steps):
    """Whatever was overwritten, a window holds the moves that followed, up to the episode's end and no further."""
    replay, known = filled(capacity, episodes)
    total = sum(map(sum, episodes))
    lengths = {}
    for episode, step in known.values():
        lengths[episode] = max(lengths.get(episode, 0), step + 1)
    at = np.arange(total - replay.size, total)
    assert replay.field("number", at).tolist() == at.tolist()
    places, inside = replay.window(at, steps)
    for i in range(replay.size):
        episode, step = known[at[i]]
        for k in range(steps + 1):
            last = min(step + k, lengths[episode] - 1)
            assert known[places[i, k]] == (episode, last)
            assert inside[i, k] == (step + k < lengths[episode])


@given(st.integers(12, 30), EPISODES, st.integers(1, 40))
def test_whole_episodes(capacity, episodes, count):
    """Whole episodes are drawn, but for overwritten moves, until there are `count` moves; each context is its episode's."""
    replay, known = filled(capacity, episodes)
    at = replay.sample_episodes(np.random.default_rng(count), count)
    assert len(at) >= count and at.min() >= replay.added - replay.size
    contexts, seen, which = replay.collate_inputs(at)
    numbers = np.concatenate([part["x"][:, 0] for part in seen])
    assert numbers.tolist() == at.tolist()
    for number, place in zip(at.tolist(), which.tolist()):
        episode, step = known[number]
        assert contexts[place]["first"] == number - step
        mates = {other for other, (its, _) in known.items() if its == episode and other >= replay.added - replay.size}
        assert mates <= set(at.tolist())


def test_states_of_several_sizes():
    """Parts of different widths follow each other: fields are filled up, states come in parts, and what is put back fits."""
    replay = Replay(20)
    replay.add(episodes_of(range(4), [2, 2], wide=2))
    replay.add(episodes_of(range(4, 7), [3], wide=5))
    at = np.array([1, 3, 5])
    assert replay.field("policy", at, -1).tolist() == [[1, 1, -1, -1, -1], [1, 1, -1, -1, -1], [1, 1, 1, 1, 1]]
    assert [part["x"].shape for part in replay.collate_inputs(at).observed] == [(2, 2), (1, 5)]
    replay.put("policy", at, np.tile(np.arange(5.0), (3, 1)))
    assert replay.field("policy", at, -1).tolist() == [[0, 1, -1, -1, -1], [0, 1, -1, -1, -1], [0, 1, 2, 3, 4]]
    assert replay.field("policy", np.array([0, 2, 4])).sum() == 2 + 2 + 5


def test_a_checkpoint_holds_it(tmp_path):
    """A replay that went through a file draws and holds the same, and goes on as the first does."""
    replay, _ = filled(10, [[3, 4], [5]])
    snapshots.write(tmp_path / "replay.safetensors", replay.state_dict())
    again = Replay(10)
    again.load_state_dict(snapshots.read(tmp_path / "replay.safetensors"))
    for one in (replay, again):
        one.add(episodes_of(range(12, 16), [4]))
    at = np.arange(6, 16)
    assert again.field("number", at).tolist() == replay.field("number", at).tolist() == at.tolist()
    assert again.moves_left(at).tolist() == replay.moves_left(at).tolist()
    assert again.sample(np.random.default_rng(3), 20).tolist() == replay.sample(np.random.default_rng(3), 20).tolist()


def test_what_does_not_fit_is_refused():
    """Too many moves, moves that tell other things, a checkpoint of another capacity."""
    replay, _ = filled(6, [[2]])
    with pytest.raises(UsageError, match="7 moves at once"):
        replay.add(episodes_of(range(7), [7]))
    with pytest.raises(UsageError, match="moves with number; the replay holds number, policy"):
        replay.add(episodes_of(range(2), [2])._replace(moves={"number": np.arange(2)}))
    with pytest.raises(UsageError, match="replay has a capacity of 6 moves"):
        Replay(5).load_state_dict(replay.state_dict())
