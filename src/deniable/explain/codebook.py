"""Lists what is in files of a study: questions with their texts, values with their codes and labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import Any, final

import numpy as np

from deniable.domain import Domain, Range
from deniable.errors import InvalidParameter
from deniable.formatting import Printed, format_table, shorten_text
from deniable.frames import Backend, frame_of_rows
from deniable.frames.frames import frame_of
from deniable.plan.attribute import Attribute, list_several
from deniable.plan.document import PlanDocument
from deniable.plan.domain_json import domain_to_dict
from deniable.plan.texts import Texts

_MOST = 200  # values of a question that are listed
_TEXT = 40  # letters of a text in a table
_EVERYBODY = "everybody"


@final
@dataclass(frozen=True)
class Codebook(Printed):
    """The questions of a plan and their values, under the names that files of estimates have.

    >>> import deniable as dn
    >>> texts = dn.Texts(questions={"tired": "Are you tired?"})
    >>> plan = dn.Study({"tired": ["yes", "no"]}, epsilon=1.0, survey=texts).plan(people=100)
    >>> print(plan.codebook())
    attribute  kind        code  value  label  asked_of   question
    tired      categories     0  yes    yes    everybody  Are you tired?
    tired      categories     1  no     no     everybody  Are you tired?
    """

    document: PlanDocument

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each value; one for all of them where they are many, or no list."""
        document, rows = self.document, []
        known = () if document.known is None else document.known.factors
        for name, domain in known:
            rows += self._list_values(name, domain, domain.labels, f"{_EVERYBODY}; known")
        for attribute in document.attributes:
            if attribute.domain.is_level:
                continue
            only_if = attribute.only_if
            asked_of = _EVERYBODY if only_if is None else f"people of whom {only_if.describe()}"
            labels = document.labels_of(attribute) if attribute.domain.k <= _MOST else ()
            rows += self._list_values(attribute.name, attribute.domain, labels, asked_of)
        for name, levels in document.levels.items():
            if isinstance(levels[-1].domain, Range) and name not in document.names:
                rows += self._list_values(name, levels[-1].domain, (), _EVERYBODY)
        for name, domain in document.domains.items():
            if name not in {row["attribute"] for row in rows}:  # it is asked together with another one
                rows += self._list_values(name, domain, domain.labels, _EVERYBODY)
        columns = dict.fromkeys(column for row in rows for column in row)
        return [dict.fromkeys(columns) | row for row in rows]

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON: the values of each question together."""
        questions: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            about = {name: cell for name, cell in row.items() if not name.startswith(_OF_VALUE)}
            question = questions.setdefault(row["attribute"], about | {"values": []})
            question["values"].append({name: cell for name, cell in row.items() if name not in about})
        document = self.document
        language = None if document.texts is None else document.texts.language
        about_plan = {"plan": document.id, "title": document.title, "language": language}
        return about_plan | {"questions": list(questions.values())}

    def frame(self, backend: Backend | None = None) -> Any:
        """The rows as a dataframe of the library you already have: pandas, polars or pyarrow."""
        return frame_of_rows(self.rows, backend)

    def write_labels(self, path: str | Path) -> None:
        """Write a file of SPSS (.sav) or Stata (.dta) without rows, from which these and R take labels.

        It has a variable for each question with the question's text, and the label of each code.
        """
        if not find_spec("pyreadstat"):
            raise InvalidParameter("files of SPSS and Stata need pyreadstat; pip install 'deniable[frames]'")
        import pyreadstat

        is_stata = Path(path).suffix.lower() == ".dta"
        most = 80 if is_stata else 120  # bytes of a label
        questions: dict[str, str | None] = {}
        values: dict[str, dict[int | float, str]] = {}
        variables: dict[str, str] = {}
        for row in self.rows:
            name = variables.setdefault(
                row["attribute"], _name_variable(row["attribute"], variables.values())
            )
            questions[name] = _cut(row["question"] or row["attribute"], most)
            if row["code"] is not None:
                values.setdefault(name, {})[row["code"]] = _cut(row["label"], most)
        frame = frame_of({name: np.zeros(0) for name in questions}, "pandas")  # which comes with pyreadstat
        write = pyreadstat.write_dta if is_stata else pyreadstat.write_sav
        write(frame, path, column_labels=questions, variable_value_labels=values)

    def __str__(self) -> str:
        columns = ("attribute", "kind", "code", "value", "label", "asked_of", "question")
        rows = [
            [shorten_text("" if row[name] is None else str(row[name]), _TEXT) for name in columns]
            for row in self.rows
        ]
        return "\n".join(format_table(columns, rows, [name for name in columns if name != "code"]))

    def _list_values(
        self, name: str, domain: Domain, labels: Sequence[str], asked_of: str
    ) -> list[dict[str, Any]]:
        """A row for each label; without labels one that describes all values."""
        attribute, texts = self.document.by_name.get(name), self.document.texts
        about = {
            "attribute": name,
            "question": self.document.question_texts.get(name, ""),
            "kind": str(domain_to_dict(domain)["kind"]),
            "asked_of": asked_of,
        }
        if not labels or len(labels) > _MOST:
            return [about | {"code": None, "value": str(domain), "label": ""}]
        rows = [about | {"code": code, "value": value, "label": value} for code, value in enumerate(labels)]
        for language in () if texts is None else texts.languages:
            column = "label" if texts is not None and language == texts.language else f"label_{language}"
            for row, label in zip(rows, self._translate(name, attribute, labels, language), strict=True):
                row[column] = label
        return rows

    def _translate(
        self, name: str, attribute: Attribute | None, labels: Sequence[str], language: str
    ) -> list[str]:
        """What people read in a language: of an option its name, of a scale what its ends mean."""
        assert self.document.texts is not None
        translated = list(labels)
        if attribute is not None and attribute.several is not None:
            options = list_several(self.document.attributes)[attribute.several]
            names = _labels_in(self.document.texts, attribute.several, language)
            translated[0] = names[options.index(attribute)] if names else attribute.option
            return translated
        shown = _labels_in(self.document.texts, name, language)
        translated[: len(shown)] = shown
        ends = self.document.texts.ends.get(name, {})
        if isinstance(ends, Mapping) and language in ends:
            last = self.document.domains[name].k - 1
            for place, meaning in zip((0, last), ends[language], strict=True):
                translated[place] += f" ({meaning})"
        return translated


_OF_VALUE = ("code", "value", "label")
_LONGEST_NAME = 32  # letters of a variable of Stata


def _name_variable(name: str, taken: Collection[str]) -> str:
    """A name that SPSS and Stata allow, and that no other question has."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"\W+", "_", letters).strip("_")
    plain = plain if plain[:1].isalpha() else f"q_{plain}"
    numbered = (f"{plain[: _LONGEST_NAME - 5]}_{number}" for number in count(2))
    names = chain([plain[:_LONGEST_NAME]], numbered)
    used = {each.lower() for each in taken}
    return next(each for each in names if each.lower() not in used)


def _cut(text: str, most: int) -> str:
    """As much of a label as a file takes, in bytes."""
    return text.encode()[:most].decode(errors="ignore")


def _labels_in(texts: Texts, name: str, language: str) -> Sequence[str]:
    """The labels of a question in a language, in their order; none where they are as the values."""
    return texts.labels.get(name, {}).get(language, ())
