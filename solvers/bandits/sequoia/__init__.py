"""SEQUOIA (Xu, Wilder, Khalil & Tambe, ICLR 2025): deep Q-learning with exact combinatorial actions.

It does not use the package's recipes for training: the network's shape depends on the instance, it is trained from scratch
within every solve, so that there is no checkpoint to share, and a training step in torch takes ten times as long as its own.
"""
