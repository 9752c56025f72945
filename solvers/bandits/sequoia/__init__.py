"""SEQUOIA (Xu, Wilder, Khalil & Tambe, ICLR 2025): deep Q-learning with exact combinatorial actions.

It does not use the package's training recipes, for two reasons. The network's shape depends on the instance, and the network is
trained from scratch in every solve, so that there is no checkpoint to share. A training step in torch takes ten times as long as
one of the kernels here.
"""
