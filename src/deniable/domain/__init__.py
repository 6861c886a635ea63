"""Describes what can be answered, and reads what people answer."""

from deniable.domain.answer import checked_text, is_missing, number_of, people_of, to_list
from deniable.domain.domain import NO_ANSWER, Categories, Domain, Range, refuse_missing
from deniable.domain.product import Product
from deniable.domain.several import Several

__all__ = [
    "NO_ANSWER",
    "Categories",
    "Domain",
    "Product",
    "Range",
    "Several",
    "checked_text",
    "is_missing",
    "number_of",
    "people_of",
    "refuse_missing",
    "to_list",
]
