"""Counts reports where they are: in files, in databases and on clusters."""

from deniable.engines.form import Counted, TableForm
from deniable.engines.sources import (
    Request,
    count_source,
    find_plan,
    gather_source,
    is_source,
    is_spark_frame,
)

__all__ = [
    "Counted",
    "Request",
    "TableForm",
    "count_source",
    "find_plan",
    "gather_source",
    "is_source",
    "is_spark_frame",
]
