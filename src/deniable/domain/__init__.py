"""Describes what can be answered, and reads what people answer."""

from deniable.domain.answer import checked_text, is_missing, number_of, people_of, to_list
from deniable.domain.categories import Categories, Several
from deniable.domain.domain import NO_ANSWER, Domain, refuse_missing
from deniable.domain.range import Range
from deniable.domain.text import Code, Text, Unlisted
from deniable.domain.view import Coarse, Product, View

__all__ = [
    "NO_ANSWER",
    "Categories",
    "Coarse",
    "Code",
    "Domain",
    "Product",
    "Range",
    "Several",
    "Text",
    "Unlisted",
    "View",
    "checked_text",
    "is_missing",
    "number_of",
    "people_of",
    "refuse_missing",
    "to_list",
]
