"""The orienteering problem: the most score within a limit on the length."""

from corl.problems.orienteering.instance import OrienteeringInstance as OrienteeringInstance
