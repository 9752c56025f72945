"""Decisions over time: an instance is revealed event by event, and a policy decides with what is known."""

from corl.online.dispatcher import Dispatcher, dispatcher, load
from corl.online.simulation import Played, simulate

__all__ = ["Dispatcher", "Played", "dispatcher", "load", "simulate"]
