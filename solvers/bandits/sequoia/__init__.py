"""SEQUOIA (Xu, Wilder, Khalil & Tambe, ICLR 2025): deep Q-learning with exact combinatorial actions.

Outside the learning contract on purpose: the network's shape is the instance's, it is learned anew inside every solve, so that
there is no checkpoint to share, and a step of it in torch costs ten times its own.
"""
