"""Rounds: each state as often as asked, in random order, the oldest gone first; snapshots go on where they were."""

from __future__ import annotations

import numpy as np
import pytest

from corl.learning.episodes import Episodes
from corl.learning.reuse_buffer import Rounds


def episodes(first, lengths):
    """Episodes whose moves have the names first, first + 1, ..."""
    names = np.arange(first, first + sum(lengths))
    moves = {"name": names, "returns": np.zeros(len(names))} if len(names) else {}
    seen = {"x": names[:, None]} if len(names) else {}
    return Episodes([], np.zeros(len(lengths), np.int64), seen, moves, np.array(lengths), np.zeros(len(lengths)))


def one_round(rounds):
    """The names in its parts, in order."""
    found = []
    while rounds.parts_left:
        at = rounds.next()
        found.append(rounds.replay.field("name", at) if len(at) else at)
    return found


@pytest.mark.parametrize("whole", [False, True])
def test_every_state_is_used_as_often_as_asked(whole):
    """Three rounds long, once in each, in an order of its own; parts are of about the size that was asked for."""
    rounds, used = Rounds(3, 8, 0, whole), np.zeros(7 * 12, int)
    for block in range(7):
        rounds.begin([episodes(12 * block, [3, 4]), episodes(12 * block + 7, [0, 5])])
        names = one_round(rounds)
        expected = np.arange(12 * max(0, block - 2), 12 * (block + 1))
        np.testing.assert_array_equal(np.sort(np.concatenate(names)), expected)
        assert all(6 <= len(part) <= 12 for part in names)
        np.add.at(used, np.concatenate(names), 1)
        if block:
            assert (np.concatenate(names) != expected).any()
    np.testing.assert_array_equal(used, np.repeat([3, 2, 1], [60, 12, 12]))


def test_whole_episodes_stay_together():
    """Where parts are as long as episodes, each is one."""
    rounds = Rounds(2, 4, 0, whole=True)
    rounds.begin([episodes(0, [4, 4, 4])])
    assert sorted(part.tolist() for part in one_round(rounds)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_nothing_to_learn_from_is_one_empty_part():
    rounds = Rounds(2, 4, 0)
    rounds.begin([episodes(0, [0, 0])])
    assert [len(part) for part in one_round(rounds)] == [0]


def test_a_snapshot_goes_on_to_the_bit():
    """In the middle of a round, and over its end."""
    one, other = Rounds(2, 3, 5), Rounds(2, 3, 5)
    one.begin([episodes(0, [5, 6])])
    one.begin([episodes(11, [5, 6])])
    one.next()
    other.load_state_dict(one.state_dict())
    for rounds in (one, other):
        rounds.said = [part.tolist() for part in one_round(rounds)]
        rounds.begin([episodes(22, [4])])
        rounds.said += [part.tolist() for part in one_round(rounds)]
    assert one.said == other.said and len(one.said) > 8
    assert [part.tolist() for part in one_round(other)] == []
