"""Takes the sections of a study in TOML apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from deniable.choose import Objective
from deniable.domain import Domain, checked_text
from deniable.domain.categories import Several
from deniable.domain.grid import Grid
from deniable.domain.parsed import as_question
from deniable.errors import InvalidParameter, not_among
from deniable.plan.maps import Map
from deniable.plan.texts import OF_ATTRIBUTE, OF_SURVEY, Texts

_KEYS = ("title", "epsilon", "missing", "per", "mechanism", "protocol", "together", "whole", "target")
_SECTIONS: dict[str, tuple[str, ...] | None] = {
    "attributes": None,
    "survey": ("ask", "language", "pages", *(name for name in OF_SURVEY if name != "title")),
    "importance": None,
    "repeat": ("epsilon_first", "epsilon_forever", "rounds", "turns", "linked"),
    "objective": tuple(limit.name for limit in fields(Objective)),
}
"""The keys of each section of a study; names of attributes and tables are keys of two."""
_OF_QUESTION = (
    *("importance", "missing", "only_if", "answered", "known", "repeat", "changes", "protocol"),
    *("map", "towns"),
)
"""The keys of an attribute that say nothing about its values or its texts."""


def list_options(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a study is made with, by name; files that it names are in the folder."""
    options, sections = _split_sections(data)
    attributes: dict[str, Domain | Several] = {}
    chosen: dict[str, dict[str, Any]] = {key: {} for key in (*_OF_QUESTION, *OF_ATTRIBUTE)}
    for name, section in sections["attributes"].items():
        checked_text(name, "an attribute's name")
        values = section
        if isinstance(section, Mapping):
            values = {key: value for key, value in section.items() if key not in chosen}
            for key in section.keys() - values.keys():
                chosen[key][name] = section[key]
        attributes[name] = as_question(values, name)
    for key in ("known", "changes"):
        for name, is_so in chosen[key].items():
            if not isinstance(is_so, bool):
                raise InvalidParameter(f"attributes.{name}.{key} is true or false, got {is_so!r}")
    for name, other in chosen["other"].items():
        if not isinstance(other, bool):
            raise InvalidParameter(
                f"attributes.{name}.other is true where the last answer stands for all that are not listed, "
                f"got {other!r}"
            )
    chosen["other"] = {name: other for name, other in chosen["other"].items() if other}
    for name, protocol in chosen["protocol"].items():
        if not isinstance(protocol, str):
            raise InvalidParameter(f"attributes.{name}.protocol must be a protocol's name, got {protocol!r}")
    for name in sections["importance"]:
        if name in chosen["importance"]:
            raise InvalidParameter(f"the importance of {name!r} is given twice; leave out one of them")
    if chosen["protocol"]:
        usual = options.get("protocol", {})
        by_name = usual if isinstance(usual, Mapping) else dict.fromkeys(attributes, usual)
        options["protocol"] = {**by_name, **chosen["protocol"]}
    if chosen["missing"]:
        usual = options.get("missing", "refuse")
        options["missing"] = dict.fromkeys(attributes, usual) | chosen["missing"]
    texts = sections["survey"]
    if "ask" in texts:
        options["ask"] = texts.pop("ask")
    if isinstance(options.get("title"), Mapping):
        texts["title"] = options.pop("title")
    if texts or any(chosen[kind] for kind in OF_ATTRIBUTE):
        by_attribute: dict[str, Any] = {kind: chosen[kind] for kind in OF_ATTRIBUTE[1:]}
        by_attribute["other"] = list(chosen["other"])
        options["survey"] = Texts(**texts, questions=chosen["question"], **by_attribute)
    return {
        "attributes": attributes,
        **options,
        **sections["repeat"],
        "objective": Objective(**sections["objective"]),
        "importance": chosen["importance"] | sections["importance"],
        "only_if": chosen["only_if"],
        "answered": chosen["answered"],
        "repeat": chosen["repeat"],
        "known": [name for name, known in chosen["known"].items() if known],
        "changes": [name for name, changes in chosen["changes"].items() if changes],
        "maps": {
            name: _read_map(name, domain, chosen["map"].get(name), chosen["towns"].get(name), folder)
            for name, domain in attributes.items()
            if name in chosen["map"] or name in chosen["towns"]
        },
    }


def _split_sections(data: object) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The keys of a study, and its sections, of which only that of the attributes must be there."""
    options = _read_section(data, "a study")
    if "share" in options:
        raise InvalidParameter('the key share is called mechanism now: mechanism = "split"')
    for section, keys in _SECTIONS.items():
        for name in options:
            if name not in _KEYS and name in (keys or ()):
                raise InvalidParameter(f"{name!r} belongs to [{section}]; write it below that line")
    sections = {
        name: _read_section(options.pop(name, None if name == "attributes" else {}), name, keys)
        for name, keys in _SECTIONS.items()
    }
    return _read_section(options, "the study", (*_KEYS, *_SECTIONS)), sections


def _read_section(table: object, what: str, known: Collection[str] | None = None) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise InvalidParameter(
            f"{what} must be a section of its own" if table is not None else f"there is no section [{what}]"
        )
    for name in table:
        if known is not None and name not in known:
            raise InvalidParameter(not_among(str(name), f"a key of {what}", known))
    return dict(table)


def _read_map(name: str, domain: Domain | Several, file: object, towns: Any, folder: Path) -> Map:
    """The map of a grid: a file, the names of towns, or both."""
    where = f"attributes.{name}"
    if not isinstance(domain, Grid):
        raise InvalidParameter(f"{where}: map and towns are for locations on a grid")
    if file is not None and not isinstance(file, str):
        raise InvalidParameter(f"{where}.map is the name of a file, got {file!r}")
    try:
        if file is None:
            return Map.of(domain, towns=towns)
        return Map.read(folder / file, domain, towns)
    except InvalidParameter as problem:
        raise InvalidParameter(f"{where}: {problem}") from None
