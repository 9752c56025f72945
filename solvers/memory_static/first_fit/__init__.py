"""Passes of first fit."""
