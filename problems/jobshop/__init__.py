"""The job shop: classic, with release and due dates, with flexible machines, with set-ups, calendars and other constraints."""

from typing import TYPE_CHECKING

from corl.deprecation import renamed
from corl.problems.jobshop.instance import JobShopInstance as JobShopInstance
from corl.problems.jobshop.instance import from_jobs as from_jobs
from corl.problems.jobshop.rules import SideConstraints as SideConstraints

if not TYPE_CHECKING:  # to a type checker, an old name is an error
    __getattr__ = renamed(__name__, {"Rules": "SideConstraints"})
