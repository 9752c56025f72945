"""Replay: a ring of moves whose episodes stay in one piece, exact through a checkpoint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.learning import snapshots
from corl.learning.replay import Replay


def filled(capacity: int, episodes: list[list[int]]) -> tuple[Replay, dict[int, tuple[int, int]]]:
    """A replay of episodes of the given lengths (added list by list), and move number -> (episode, step)."""
    replay, number, known, episode = Replay(capacity), 0, {}, 0
    for lengths in episodes:
        count = sum(lengths)
        replay.add({"number": np.arange(number, number + count)}, np.array(lengths, np.int64))
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
    at = np.arange(replay.size)
    numbers = replay.fields["number"]
    assert sorted(numbers[at]) == list(range(total - replay.size, total))
    places, inside = replay.window(at, steps)
    for i in at:
        episode, step = known[numbers[i]]
        for k in range(steps + 1):
            last = min(step + k, lengths[episode] - 1)
            assert known[numbers[places[i, k]]] == (episode, last)
            assert inside[i, k] == (step + k < lengths[episode])


def test_a_checkpoint_holds_it(tmp_path):
    """A replay that went through a file draws and holds the same, and goes on as the first does."""
    replay, _ = filled(10, [[3, 4], [5]])
    snapshots.write(tmp_path / "replay.safetensors", replay.state_dict())
    again = Replay(10)
    again.load_state_dict(snapshots.read(tmp_path / "replay.safetensors"))
    for one in (replay, again):
        one.add({"number": np.arange(100, 104)}, np.array([4]))
    assert again.fields["number"].tolist() == replay.fields["number"].tolist() and again.left.tolist() == replay.left.tolist()
    assert again.sample(np.random.default_rng(3), 20).tolist() == replay.sample(np.random.default_rng(3), 20).tolist()


def test_what_does_not_fit_is_refused():
    """Too many moves, moves of another shape, a checkpoint of another capacity."""
    replay, _ = filled(6, [[2]])
    with pytest.raises(UsageError, match="7 moves at once"):
        replay.add({"number": np.arange(7)}, np.array([7]))
    with pytest.raises(UsageError, match=r"number has the shape \(2, 3\)"):
        replay.add({"number": np.zeros((2, 3), int)}, np.array([2]))
    with pytest.raises(UsageError, match="a replay of 6 moves was kept"):
        Replay(5).load_state_dict(replay.state_dict())
