"""What is believed of the transition probabilities, given counts of transitions: posteriors and samples.

States are sorted by reward. The next state is built by *cells*: cell (action, state, k) is the chance to get above state k, given
that state k is reached (stick breaking; Linderman, Johnson & Adams, NeurIPS 2015). So there are C = 2 S (S - 1) cells, each
binomial, with S = 2 states one for each action and state.

INDEPENDENT: each cell of each arm has a beta prior, which is conjugate.

ARM and FEATURES: the C log-odds of arm j are normal with mean W' x_j and covariance V. With Polya-gamma variables (Polson, Scott
& Windle, JASA 2013) the binomial likelihood is normal; they are replaced by their expectations, iterated to a fixed point
(Jaakkola & Jordan 2000; Durante & Rigon, Statistical Science 2019). With ARM, W has only the known intercepts: nothing is
shared between arms, but cells of an arm are correlated. With FEATURES, x_j has the features, and W a normal prior. Given the
Polya-gamma variables, W's posterior is computed with the arms' deviations integrated out, and a sample is exact: first W, then
each arm. (Thompson sampling with Polya-gamma variables: Dumitrascu, Feng & Engelhardt, NeurIPS 2018.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.kernels.inverse import invert
from corl.rng import uniform

__all__ = ["ARM", "FEATURES", "INDEPENDENT", "add_deviations", "posterior", "sample", "tally"]

INDEPENDENT, ARM, FEATURES = 0, 1, 2
"""The models."""
_SWEEPS = 2  # of the expectations of the Polya-gamma variables, from those of the observed log-odds


@kernel
def tally(counts: Any, order: Any, trials: Any, successes: Any) -> None:
    """Write the trials and successes of each cell, float64 [J, C], in place.

    Args:
        counts: int32 [J, 2, S, S], the transitions of each arm by action, state and next state.
        order: int64 [S], the states from the lowest reward to the highest.
        trials: The result.
        successes: The result.
    """
    arms, _, size, _ = counts.shape
    for j in range(arms):
        c = 0
        for a in range(2):
            for s in range(size):
                left = 0.0
                for following in range(size):
                    left += counts[j, a, s, following]
                for k in range(size - 1):
                    trials[j, c] = left
                    left -= counts[j, a, s, order[k]]
                    successes[j, c] = left
                    c += 1


@kernel
def posterior(prior: Any, trials: Any, successes: Any, weights: Any, precision: Any, omega: Any, inverse: Any) -> None:
    """Write the posterior of the log-odds, in place; with INDEPENDENT there is nothing to compute.

    Args:
        prior: A `Prior` (corl.solvers.bandits.online.learner).
        trials: float64 [J, C], see `tally`.
        successes: float64 [J, C].
        weights: float64 [F, C], the posterior mean of the weights.
        precision: float64 [F * C, F * C], the Cholesky factor of their posterior precision, in its lower triangle (FEATURES).
        omega: float64 [J, C], the expectations of the Polya-gamma variables.
        inverse: float64 [J, C, C], the posterior covariance of each arm's log-odds, given the weights.
    """
    arms, width = trials.shape
    weights[:] = prior.weights
    if prior.model == INDEPENDENT:
        return
    mean = np.empty(width)
    for j in range(arms):
        for c in range(width):
            lost = trials[j, c] - successes[j, c]
            omega[j, c] = _expected(trials[j, c], abs(np.log((successes[j, c] + 0.5) / (lost + 0.5))))
    for sweep in range(_SWEEPS + 1):
        for j in range(arms):
            inverse[j] = prior.precision
            for c in range(width):
                inverse[j, c, c] += omega[j, c]
            invert(inverse[j])
        if prior.model == FEATURES:
            _regress(prior, trials, successes, omega, inverse, precision, weights)
        if sweep == _SWEEPS:
            break
        for j in range(arms):
            _arm_mean(prior, weights, trials[j], successes[j], inverse[j], j, mean)
            for c in range(width):
                omega[j, c] = _expected(trials[j, c], np.sqrt(mean[c] ** 2 + inverse[j, c, c]))
    if prior.model == FEATURES:
        _factorise(precision)


@kernel(inline=True)
def _expected(trials: Any, odds: Any) -> Any:
    """Return the expectation of a Polya-gamma variable of so many trials and log-odds of this size."""
    return trials * (0.5 * np.tanh(0.5 * odds) / odds if odds > 1e-6 else 0.25)


@kernel
def sample(
    prior: Any, trials: Any, successes: Any, weights: Any, precision: Any, omega: Any, inverse: Any, order: Any, scale: Any,
    noise: Any, chances: Any,
) -> None:  # fmt: skip
    """Write a sample of the posterior, float64 [J, 2, S, S] transition probabilities, to `chances`, in place.

    Args:
        prior: As for `posterior`; so are the next six.
        trials: float64 [J, C].
        successes: float64 [J, C].
        weights: float64 [F, C].
        precision: float64 [F * C, F * C].
        omega: float64 [J, C].
        inverse: float64 [J, C, C].
        order: int64 [S], the states from the lowest reward to the highest.
        scale: The factor of the sample's distance from the posterior mean; 1: a sample of the posterior, 0: its mean.
        noise: uint64 [1], a state of corl.rng; advanced.
        chances: The result.
    """
    arms, width = trials.shape
    size = len(order)
    cells, drawn = np.empty(width), weights.copy()
    factor = np.empty((width, width))
    if prior.model == FEATURES and scale > 0.0:
        _add_normal(precision, scale, noise, drawn.ravel())
    for j in range(arms):
        if prior.model == INDEPENDENT:
            _sample_betas(prior, trials[j], successes[j], scale, noise, cells)
        else:
            _arm_mean(prior, drawn, trials[j], successes[j], inverse[j], j, cells)
            if scale > 0.0:
                factor[:] = prior.precision
                for c in range(width):
                    factor[c, c] += omega[j, c]
                _factorise(factor)
                _add_normal(factor, scale, noise, cells)
            for c in range(width):
                if scale == 0.0:  # the mean of the probability, not of the log-odds (MacKay, Neural Computation 4, 1992)
                    cells[c] /= np.sqrt(1.0 + np.pi / 8.0 * inverse[j, c, c])
                cells[c] = 1.0 / (1.0 + np.exp(-min(max(cells[c], -14.0), 14.0)))
        c = 0
        for a in range(2):
            for s in range(size):
                left = 1.0
                for k in range(size - 1):
                    chances[j, a, s, order[k]] = left * (1.0 - cells[c])
                    left *= cells[c]
                    c += 1
                chances[j, a, s, order[size - 1]] = left


@kernel
def add_deviations(
    prior: Any, trials: Any, successes: Any, inverse: Any, order: Any, chances: Any, later: Any, factor: Any, values: Any
) -> None:
    """Add `factor` times the standard deviation of the value of a pull to `values`, float64 [J, S], in place.

    The value of a pull is what it adds to the expectation of `later`; its deviation is computed to first order in the cells
    (the delta method), given the weights.

    Args:
        prior: As for `posterior`; so are the next three.
        trials: float64 [J, C].
        successes: float64 [J, C].
        inverse: float64 [J, C, C].
        order: int64 [S], the states from the lowest reward to the highest.
        chances: float64 [J, 2, S, S], the posterior mean of the transition probabilities.
        later: float64 [J, S], the discounted values of the states that follow.
        factor: A number.
        values: The result.
    """
    arms, size = values.shape
    steps = size - 1
    slope = np.empty((2, steps))
    for j in range(arms):
        for s in range(size):
            for a in range(2):
                _slopes(chances[j, a, s], later[j], order, slope[a])
            variance = 0.0
            for a in range(2):
                at = (a * size + s) * steps
                for k in range(steps):
                    if prior.model == INDEPENDENT:
                        variance += slope[a, k] ** 2 * _beta_variance(prior, trials[j], successes[j], at + k)
                        continue
                    for b in range(2):
                        sign, to = 1.0 if a == b else -1.0, (b * size + s) * steps
                        for m in range(steps):
                            variance += sign * slope[a, k] * slope[b, m] * inverse[j, at + k, to + m]
            values[j, s] += factor * np.sqrt(max(0.0, variance))


@kernel
def _slopes(row: Any, later: Any, order: Any, slope: Any) -> None:
    """Write the derivative of the mean of `later` [S] by the log-odds of each cell of `row` [S] to `slope` [S - 1], in place."""
    above, mean = 0.0, 0.0  # the chance to get above a state, and the sum of `later` over these states, times chances
    for k in range(len(slope), 0, -1):
        above += row[order[k]]
        mean += row[order[k]] * later[order[k]]
        reached = above + row[order[k - 1]]
        # with the cell p = above / reached: reached * p * (1 - p) * (mean / above - later of the state)
        slope[k - 1] = row[order[k - 1]] / max(reached, 1e-300) * (mean - above * later[order[k - 1]])


@kernel(inline=True)
def _beta_variance(prior: Any, trials: Any, successes: Any, c: Any) -> Any:
    """Return the variance of the log-odds of cell c of an arm, to first order, from that of its beta posterior."""
    a = prior.successes[c] + successes[c]
    b = prior.failures[c] + trials[c] - successes[c]
    return (a + b) ** 2 / (a * b * (a + b + 1.0))


@kernel
def _sample_betas(prior: Any, trials: Any, successes: Any, scale: Any, noise: Any, cells: Any) -> None:
    """Write a sample of the beta posteriors of one arm's cells, [C], in place; `scale` squared divides the observations."""
    for c in range(len(cells)):
        a = prior.successes[c] + successes[c]
        b = prior.failures[c] + trials[c] - successes[c]
        if scale == 0.0:
            value = a / (a + b)
        else:
            grown = 1.0 / (scale * scale)
            up = _gamma(a * grown, noise)
            value = up / (up + _gamma(b * grown, noise))
        cells[c] = min(max(value, 1e-6), 1.0 - 1e-6)


@kernel
def _arm_mean(prior: Any, weights: Any, trials: Any, successes: Any, inverse: Any, j: Any, mean: Any) -> None:
    """Write the posterior mean of the log-odds of arm j, [C], given the weights [F, C], to `mean`, in place."""
    width = len(trials)
    right = np.empty(width)
    for c in range(width):
        mean[c] = 0.0
        for f in range(len(weights)):
            mean[c] += prior.features[j, f] * weights[f, c]
    for c in range(width):
        right[c] = successes[c] - 0.5 * trials[c]
        for k in range(width):
            right[c] += prior.precision[c, k] * mean[k]
    for c in range(width):
        mean[c] = 0.0
        for k in range(width):
            mean[c] += inverse[c, k] * right[k]


@kernel
def _regress(prior: Any, trials: Any, successes: Any, omega: Any, inverse: Any, precision: Any, weights: Any) -> None:
    """Write the posterior precision [F * C, F * C] and mean [F, C] of the weights, arms' deviations integrated out, in place."""
    arms, width = trials.shape
    drivers = len(weights)
    right, block, excess = np.empty((drivers, width)), np.empty((width, width)), np.empty(width)
    precision[:] = 0.0
    for f in range(drivers):
        for c in range(width):
            right[f, c] = 0.0
            for k in range(width):
                precision[f * width + c, f * width + k] = prior.weights_precision[f, c, k]
                right[f, c] += prior.weights_precision[f, c, k] * prior.weights[f, k]
    for j in range(arms):
        for c in range(width):
            excess[c] = successes[j, c] - 0.5 * trials[j, c]
            for k in range(width):
                block[c, k] = -omega[j, c] * inverse[j, c, k] * omega[j, k]
                excess[c] -= omega[j, c] * inverse[j, c, k] * (successes[j, k] - 0.5 * trials[j, k])
            block[c, c] += omega[j, c]
        for f in range(drivers):
            x = prior.features[j, f]
            for c in range(width):
                right[f, c] += x * excess[c]
            for g in range(f + 1):
                product = x * prior.features[j, g]
                for c in range(width):
                    for k in range(width):
                        precision[f * width + c, g * width + k] += product * block[c, k]
    for r in range(drivers * width):
        for s in range(r):
            precision[s, r] = precision[r, s]
    weights[:] = np.linalg.solve(precision, right.ravel()).reshape(drivers, width)


@kernel
def _factorise(matrix: Any) -> None:
    """Replace the lower triangle of a positive definite matrix [N, N] by its Cholesky factor, in place."""
    size = len(matrix)
    for r in range(size):
        for c in range(r + 1):
            total = matrix[r, c]
            for k in range(c):
                total -= matrix[r, k] * matrix[c, k]
            matrix[r, c] = np.sqrt(total) if r == c else total / matrix[c, c]


@kernel
def _add_normal(factor: Any, scale: Any, noise: Any, values: Any) -> None:
    """Add `scale` times a normal vector of mean 0 to `values` [N], in place; its precision has this Cholesky `factor` [N, N]."""
    size = len(factor)
    drawn = np.empty(size)
    for r in range(size):
        drawn[r] = _normal(noise)
    for r in range(size - 1, -1, -1):
        for k in range(r + 1, size):
            drawn[r] -= factor[k, r] * drawn[k]
        drawn[r] /= factor[r, r]
        values[r] += scale * drawn[r]


@kernel(inline=True)
def _normal(noise: Any) -> Any:
    """Return a standard normal number (Box & Muller); advance `noise`."""
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(noise)))
    return radius * np.cos(2.0 * np.pi * uniform(noise))


@kernel
def _gamma(shape: Any, noise: Any) -> Any:
    """Return a gamma number of this shape and scale 1 (Marsaglia & Tsang, ACM TOMS 26, 2000); advance `noise`."""
    if shape < 1.0:
        return _gamma_from_one(shape + 1.0, noise) * (1.0 - uniform(noise)) ** (1.0 / shape)
    return _gamma_from_one(shape, noise)


@kernel
def _gamma_from_one(shape: Any, noise: Any) -> Any:
    """Return a gamma number of a shape of at least 1; advance `noise`."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = _normal(noise)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and np.log(1.0 - uniform(noise)) < 0.5 * x * x + d - d * v + d * np.log(v):
            return d * v
