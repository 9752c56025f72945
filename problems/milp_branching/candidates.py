"""`Feature`: what policies see of a branching candidate, by name, in SCIP's tree and in the environment's."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Feature"]


class Feature(IntEnum):
    """A number of a candidate, and its column among all; checkpoints depend on the order.

    After Khalil, Le Bodic, Song, Nemhauser and Dilkina (Learning to branch in mixed integer programming, AAAI 2016), and every
    candidate beside the others of its node. A row is tight where its activity is at a side; duals are multiplied by the row's
    norm and divided by the objective's, so that scaling a row or the objective changes nothing. All is of the minimised program.
    """

    FRACTION = 0  # f, the fractional part of the LP value
    TO_INTEGER = 1  # min(f, 1 - f)
    COST = 2  # objective coefficient / the objective's norm
    COST_SIZE = 3  # its absolute value
    PSEUDOCOST_DOWN = 4  # / the candidates' mean
    PSEUDOCOST_UP = 5  # likewise
    GAIN_DOWN = 6  # log of f x PSEUDOCOST_DOWN
    GAIN_UP = 7  # log of (1 - f) x PSEUDOCOST_UP
    GAINS = 8  # their sum: the score of pseudocost branching
    COUNT_DOWN = 9  # log(1 + observations behind the pseudocost)
    COUNT_UP = 10  # likewise
    INFERENCES_DOWN = 11  # log(1 + mean number of inferences)
    INFERENCES_UP = 12  # likewise
    CUTOFFS_DOWN = 13  # share of branchings that were cut off
    CUTOFFS_UP = 14  # likewise
    FROM_ROOT = 15  # LP value - LP value at the root
    FROM_AVERAGE = 16  # LP value - mean over solutions found
    FROM_INCUMBENT = 17  # LP value - the incumbent's, 0 without one
    DEPTH = 18  # log(1 + depth)
    CANDIDATES = 19  # log(1 + number of candidates)
    ROWS = 20  # log(1 + rows of the column)
    TIGHT = 21  # log(1 + those that are tight)
    DUAL_SUM = 22  # sum of |dual| over tight rows
    DUAL_MOST = 23  # the largest
    DUAL_MEAN = 24  # the mean
    DUAL_FRACTION = 25  # DUAL_SUM x TO_INTEGER
    RIVALS_SUM = 26  # log(1 + fractional columns in tight rows, counted in each)
    RIVALS_MOST = 27  # log(1 + most in one)
    RIVALS_MEAN = 28  # log(1 + mean)
    RIVALS_INVERSE = 29  # sum of 1 / number, over tight rows
    NEIGHBOURS = 30  # log(1 + entries in all its rows)
    SLACK = 31  # mean slack / norm of its rows, each at most 10
    TIGHT_SHARE = 32  # tight rows / rows
    COEFFICIENTS = 33  # sum of |coefficient| / norm over tight rows
    GAP = 34  # log of (what better solutions are below - LP objective) / objective's norm, within -20..20; 20 without
    GAINS_BEHIND = 35  # GAINS - the best candidate's
    DUAL_SHARE = 36  # DUAL_SUM / the largest among candidates
    ROWS_SHARE = 37  # ROWS / the most among candidates; in the environment of the numbers themselves
    RIVALS_ABOVE = 38  # RIVALS_SUM - the candidates' mean
    FRACTION_SHARE = 39  # TO_INTEGER / the largest among candidates
