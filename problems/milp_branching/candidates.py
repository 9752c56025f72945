"""`Feature`: the named features of a branching candidate, in SCIP's tree and in the environment's."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Feature"]


class Feature(IntEnum):
    """A feature of a candidate; its value is its column in feature arrays. Checkpoints depend on the order.

    Most are from Khalil, Le Bodic, Song, Nemhauser and Dilkina (Learning to branch in mixed integer programming, AAAI 2016);
    others compare a candidate with the other candidates of its node. A row is tight if its activity equals one of its sides.
    Duals are multiplied by the norm of the row and divided by the norm of the objective, so that scaling a row or the objective
    changes no feature. All features are those of the minimised program.
    """

    FRACTION = 0  # f, the fractional part of the LP value
    TO_INTEGER = 1  # min(f, 1 - f)
    COST = 2  # objective coefficient / the objective's norm
    COST_SIZE = 3  # its absolute value
    PSEUDOCOST_DOWN = 4  # / the candidates' mean
    PSEUDOCOST_UP = 5  # / the candidates' mean
    GAIN_DOWN = 6  # log of f x PSEUDOCOST_DOWN
    GAIN_UP = 7  # log of (1 - f) x PSEUDOCOST_UP
    GAINS = 8  # their sum: the score of pseudocost branching
    COUNT_DOWN = 9  # log(1 + number of observations of the pseudocost)
    COUNT_UP = 10  # log(1 + number of observations of the pseudocost)
    INFERENCES_DOWN = 11  # log(1 + mean number of inferences)
    INFERENCES_UP = 12  # log(1 + mean number of inferences)
    CUTOFFS_DOWN = 13  # fraction of branchings whose child was cut off
    CUTOFFS_UP = 14  # fraction of branchings whose child was cut off
    FROM_ROOT = 15  # LP value - LP value at the root
    FROM_AVERAGE = 16  # LP value - mean over the solutions found
    FROM_INCUMBENT = 17  # LP value - value in the incumbent; 0 without an incumbent
    DEPTH = 18  # log(1 + depth)
    CANDIDATES = 19  # log(1 + number of candidates)
    ROWS = 20  # log(1 + rows of the column)
    TIGHT = 21  # log(1 + tight rows of the column)
    DUAL_SUM = 22  # sum of |dual| over its tight rows
    DUAL_MOST = 23  # largest |dual| of its tight rows
    DUAL_MEAN = 24  # mean |dual| of its tight rows
    DUAL_FRACTION = 25  # DUAL_SUM x TO_INTEGER
    RIVALS_SUM = 26  # log(1 + sum over its tight rows of the number of fractional columns)
    RIVALS_MOST = 27  # log(1 + largest number of fractional columns in a tight row)
    RIVALS_MEAN = 28  # log(1 + mean number of fractional columns in its tight rows)
    RIVALS_INVERSE = 29  # sum of 1 / number of fractional columns, over its tight rows
    NEIGHBOURS = 30  # log(1 + entries in all its rows)
    SLACK = 31  # mean of slack / norm over its rows, each at most 10
    TIGHT_SHARE = 32  # tight rows / rows
    COEFFICIENTS = 33  # sum of |coefficient| / norm over its tight rows
    GAP = 34  # log((cutoff bound - LP objective) / norm of the objective), clipped to -20..20; 20 without an incumbent
    GAINS_BELOW_BEST = 35  # GAINS - largest GAINS of the candidates
    DUAL_SHARE = 36  # DUAL_SUM / largest DUAL_SUM of the candidates
    ROWS_SHARE = 37  # ROWS / largest ROWS of the candidates; in the environment without the logarithms
    RIVALS_ABOVE = 38  # RIVALS_SUM - mean RIVALS_SUM of the candidates
    FRACTION_SHARE = 39  # TO_INTEGER / largest TO_INTEGER of the candidates
    GAINS_BEHIND = GAINS_BELOW_BEST  # former name, until the next version
