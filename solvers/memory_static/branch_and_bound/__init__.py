"""Branch and bound: restarts of two kinds of tree searches, beside first fit."""
