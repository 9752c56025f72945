"""`Feature`: the features of a branching candidate, in SCIP's tree and in the tree of the environment."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Feature"]


class Feature(IntEnum):
    """The features of a candidate and their columns in arrays. Checkpoints depend on the order.

    Most features are from Khalil, Le Bodic, Song, Nemhauser and Dilkina (Learning to branch in mixed integer programming, AAAI
    2016); the last ones compare a candidate with the other candidates of its node. A maximised program is described as a
    minimised one.

    A row is tight if its activity equals one of its sides. Rivals are the fractional columns in a tight row. Duals are multiplied
    by the norm of the row and divided by the norm of the objective, so that scaling a row or the objective changes no feature.
    """

    FRACTION = 0  # f, the fractional part of the LP value
    TO_INTEGER = 1  # min(f, 1 - f)
    COST = 2  # objective coefficient / norm of the objective
    COST_SIZE = 3  # |COST|
    PSEUDOCOST_DOWN = 4  # pseudocost for branching down / its mean over the candidates
    PSEUDOCOST_UP = 5  # pseudocost for branching up / its mean over the candidates
    GAIN_DOWN = 6  # log(f * PSEUDOCOST_DOWN)
    GAIN_UP = 7  # log((1 - f) * PSEUDOCOST_UP)
    GAINS = 8  # GAIN_DOWN + GAIN_UP: the score of pseudocost branching
    COUNT_DOWN = 9  # log(1 + number of observations of the pseudocost down)
    COUNT_UP = 10  # log(1 + number of observations of the pseudocost up)
    INFERENCES_DOWN = 11  # log(1 + mean number of bound changes that SCIP derived after branching down)
    INFERENCES_UP = 12  # log(1 + mean number of bound changes that SCIP derived after branching up)
    CUTOFFS_DOWN = 13  # fraction of branchings whose down child was cut off
    CUTOFFS_UP = 14  # fraction of branchings whose up child was cut off
    FROM_ROOT = 15  # LP value - LP value at the root
    FROM_AVERAGE = 16  # LP value - mean over the solutions found
    FROM_INCUMBENT = 17  # LP value - value in the incumbent; 0 without an incumbent
    DEPTH = 18  # log(1 + depth)
    CANDIDATES = 19  # log(1 + number of candidates)
    ROWS = 20  # log(1 + number of rows of the candidate's column)
    TIGHT = 21  # log(1 + number of tight rows of the column)
    DUAL_SUM = 22  # sum of |dual| over the column's tight rows
    DUAL_MOST = 23  # largest |dual| of the column's tight rows
    DUAL_MEAN = 24  # mean |dual| of the column's tight rows
    DUAL_FRACTION = 25  # DUAL_SUM * TO_INTEGER
    RIVALS_SUM = 26  # log(1 + sum of the numbers of rivals in the column's tight rows)
    RIVALS_MOST = 27  # log(1 + largest number of rivals in one of these rows)
    RIVALS_MEAN = 28  # log(1 + mean number of rivals in these rows)
    RIVALS_INVERSE = 29  # sum over these rows of 1 / number of rivals
    NEIGHBOURS = 30  # log(1 + number of coefficients in all rows of the column)
    SLACK = 31  # mean over the column's rows of slack / norm, each at most 10
    TIGHT_SHARE = 32  # number of tight rows / number of rows of the column
    COEFFICIENTS = 33  # sum over the column's tight rows of |coefficient| / norm
    GAP = 34  # log((cutoff bound - LP objective) / norm of the objective), clipped to -20..20; 20 without an incumbent
    GAINS_BELOW_BEST = 35  # GAINS - largest GAINS of the candidates
    DUAL_SHARE = 36  # DUAL_SUM / largest DUAL_SUM of the candidates
    ROWS_SHARE = 37  # ROWS / largest ROWS of the candidates; in the environment without the logarithms
    RIVALS_ABOVE = 38  # RIVALS_SUM - mean RIVALS_SUM of the candidates
    FRACTION_SHARE = 39  # TO_INTEGER / largest TO_INTEGER of the candidates
    GAINS_BEHIND = GAINS_BELOW_BEST  # former name, until the next version
