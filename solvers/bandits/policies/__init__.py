"""Kinds of policies that solvers of bandits report: tables, programs solved in every step, rollouts, networks.

Each is a `corl.problems.bandits.policy.BanditPolicy`; the judge finds it by an entry point of the group `corl.policies`.
"""
