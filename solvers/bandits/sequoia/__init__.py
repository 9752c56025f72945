"""SEQUOIA (Xu, Wilder, Khalil & Tambe, ICLR 2025): deep Q-learning with exact combinatorial actions."""
