"""Reads the TOML file of a study, and takes its sections apart."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from deniable.choose import Objective
from deniable.domain import Domain, checked_text
from deniable.domain.categories import Several
from deniable.domain.grid import Grid
from deniable.domain.parsed import as_question
from deniable.errors import InvalidParameter, not_among
from deniable.frames import file_kind
from deniable.plan.maps import Map
from deniable.plan.texts import OF_ATTRIBUTE, OF_SURVEY, Texts

_KEYS = ("title", "epsilon", "missing", "per", "mechanism", "protocol", "together", "target")
_OF_MAP = ("map", "towns")
_SECTIONS = ("attributes", "repeat", "objective", "survey", "importance")
_TEXTS = ("ask", "language", "pages", *(name for name in OF_SURVEY if name != "title"))


def read_toml(file: Path) -> dict[str, Any]:
    """What the file of a study holds."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        kind = file_kind(file)
        mixed = f"{file.name} is {kind}, not a study" + ("; Plan.read reads it" if kind == "a plan" else "")
        why = (
            "its lists or sections are nested too deeply" if isinstance(problem, RecursionError) else problem
        )
        raise InvalidParameter(mixed if kind else f"{file.name} is not valid TOML: {why}") from None


def list_options(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a study is made with, by name; files that it names are in the folder."""
    options = _read_section(data, "a study")
    sections = _read_section(options.pop("attributes", None), "attributes")
    protocols, attributes = {}, {}
    maps: dict[str, dict[str, Any]] = {}
    importance: dict[str, Any] = {}
    missing: dict[str, Any] = {}
    only_if: dict[str, Any] = {}
    answered: dict[str, Any] = {}
    known: list[str] = []
    keys_of_attributes = (
        ("importance", importance),
        ("missing", missing),
        ("only_if", only_if),
        ("answered", answered),
    )
    texts = _read_section(options.pop("survey", {}), "survey", _TEXTS)
    asking = {"ask": texts.pop("ask")} if "ask" in texts else {}
    if isinstance(options.get("title"), Mapping):
        texts["title"] = options.pop("title")
    about: dict[str, dict[str, Any]] = {kind: {} for kind in OF_ATTRIBUTE}
    for name, table in sections.items():
        checked_text(name, "an attribute's name")
        if isinstance(table, Mapping):
            for kind in OF_ATTRIBUTE:
                if kind in table:
                    about[kind][name] = table[kind]
            table = {key: value for key, value in table.items() if key not in OF_ATTRIBUTE}
            for key, values in keys_of_attributes:
                if key in table:
                    values[name] = table.pop(key)
            if _read_known(name, table.pop("known", False)):
                known.append(name)
            if map_keys := {key: table.pop(key) for key in _OF_MAP if key in table}:
                maps[name] = map_keys
        attributes[name], protocol = _read_attribute(name, table)
        if protocol is not None:
            protocols[name] = protocol
    for name, weight in _read_section(options.pop("importance", {}), "importance").items():
        if name in importance:
            raise InvalidParameter(f"the importance of {name!r} is given twice; leave out one of them")
        importance[name] = weight
    rounds = ("epsilon_first", "epsilon_forever", "rounds")
    again = _read_section(options.pop("repeat", {}), "repeat", rounds)
    limits = tuple(limit.name for limit in fields(Objective))
    caps = _read_section(options.pop("objective", {}), "objective", limits)
    if "share" in options:
        raise InvalidParameter('the key share is called mechanism now: mechanism = "split"')
    _read_section(options, "the study", (*_KEYS, *_SECTIONS))
    if protocols:
        usual = options.get("protocol", {})
        options["protocol"] = (
            dict(usual if isinstance(usual, Mapping) else dict.fromkeys(attributes, usual)) | protocols
        )
    if texts or any(about.values()):
        texts_by_attribute: dict[str, Any] = {kind: about[kind] for kind in OF_ATTRIBUTE[1:]}
        texts_by_attribute["questions"] = about["question"]
        options["survey"] = Texts(**texts, **texts_by_attribute)
    if missing:
        usual = options.get("missing", "refuse")
        options["missing"] = dict.fromkeys(attributes, usual) | missing
    choices = {"objective": Objective(**caps), "importance": importance, "only_if": only_if}
    choices |= {"answered": answered, "known": known}
    choices["maps"] = {name: _read_map(name, attributes[name], keys, folder) for name, keys in maps.items()}
    return {"attributes": attributes, **options, **again, **choices, **asking}


def _read_section(table: object, what: str, known: Iterable[str] | None = None) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise InvalidParameter(
            f"{what} must be a section of its own" if table is not None else f"there is no section [{what}]"
        )
    for name in table if known is not None else ():
        if name not in list(known or ()):
            raise InvalidParameter(not_among(str(name), f"a key of {what}", known or ()))
    return dict(table)


def _read_known(name: str, known: object) -> bool:
    if not isinstance(known, bool):
        raise InvalidParameter(f"attributes.{name}.known is true or false, got {known!r}")
    return known


def _read_map(name: str, domain: Domain | Several, map_keys: Mapping[str, Any], folder: Path) -> Map:
    """The map of a grid: a file, the names of towns, or both."""
    where, file = f"attributes.{name}", map_keys.get("map")
    if not isinstance(domain, Grid):
        raise InvalidParameter(f"{where}: map and towns are for locations on a grid")
    if file is not None and not isinstance(file, str):
        raise InvalidParameter(f"{where}.map is the name of a file, got {file!r}")
    try:
        if file is None:
            return Map.of(domain, towns=map_keys["towns"])
        return Map.read(folder / file, domain, map_keys.get("towns"))
    except InvalidParameter as problem:
        raise InvalidParameter(f"{where}: {problem}") from None


def _read_attribute(name: str, section: object) -> tuple[Domain | Several, str | None]:
    """What is asked under a name, and the protocol if a section names one."""
    if not isinstance(section, Mapping):
        return as_question(section, name), None
    table = dict(section)
    protocol = table.pop("protocol", None)
    if protocol is not None and not isinstance(protocol, str):
        raise InvalidParameter(f"attributes.{name}.protocol must be a protocol's name, got {protocol!r}")
    return as_question(table, name), protocol
