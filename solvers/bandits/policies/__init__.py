"""The policies that solvers of bandits report: tables, linear programs solved in every step, rollouts, networks.

Each is a `corl.problems.bandits.policy.BanditPolicy` and declared as an entry point of the group `corl.policies`, by which
`corl check` finds the class of a policy in a file.
"""
