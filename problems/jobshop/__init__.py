"""The job shop: classic, with release and due dates, with flexible machines."""

from corl.problems.jobshop.instance import JobShopInstance as JobShopInstance
from corl.problems.jobshop.instance import from_jobs as from_jobs
