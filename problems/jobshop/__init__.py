"""The job shop: classic, with release and due dates, with flexible machines, with set-ups, calendars and other constraints."""

from corl.problems.jobshop.instance import JobShopInstance as JobShopInstance
from corl.problems.jobshop.instance import from_jobs as from_jobs
from corl.problems.jobshop.rules import SideConstraints as SideConstraints
