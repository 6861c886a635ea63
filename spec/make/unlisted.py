"""Plans that ask for text and codes that nobody listed, answers to them, and plans that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import deniable as dn
from deniable.domain import Coarse, Unlisted
from deniable.plan.attribute import Attribute
from deniable.plan.domain_json import domain_to_dict
from deniable.records import Sample, Split
from deniable.study import Plan

SITE = dn.Text("a-z0-9.-", longest=10)
DEVICE = dn.Code(bits=48)
ANSWERS: list[dict[str, Any]] = [
    {"site": "example.org", "device": 1998, "smokes": "no", "word": "cafe\u0301"},
    {"site": "a", "device": "0xFFFFffffFFFF", "smokes": "yes", "word": "zzz"},
    {"site": 2026, "device": 0, "smokes": "yes", "word": "été"},
]


def of(attributes: dict[str, Any], mechanism: Any, **more: Any) -> Plan:
    return Plan.of(attributes, mechanism, people=1000, title="Wörter", **more)


def plans() -> dict[str, Plan]:
    """Text alone, a code alone, and both beside other questions."""
    site, device, smokes = dn.mechanisms.linear(60, 2.0), dn.mechanisms.linear(48, 1.0), dn.rr(1.0)
    both = {"site": SITE, "smokes": ["yes", "no"], "device": DEVICE}
    word = dn.Text("a-zé", longest=5, cut=False)
    coarse = [Coarse("site", SITE, 1 << (60 - bits)) for bits in (20, 40, 60)]
    leveled = {one.name: Attribute(one.name, one) for one in coarse} | {"site": SITE, "smokes": ["yes", "no"]}
    levels = [dn.mechanisms.linear(bits, 2.0) for bits in (20, 40, 60)]
    return {
        "text": of({"site": SITE}, site),
        "a code": of({"device": DEVICE}, device),
        "text that is not cut": of({"word": word}, dn.mechanisms.linear(25, 5.0)),
        "one bit": of({"word": word}, dn.mechanisms.linear(25, 0.1)),
        "the longest code": of({"device": dn.Code(62)}, dn.mechanisms.linear(62, 8.0)),
        "the shortest code": of({"device": dn.Code(8)}, dn.mechanisms.linear(8, 8.0)),
        "sampled": of(both, Sample((site, smokes, device), weights=(2, 1, 1))),
        "split": of(both, Split((site, smokes, device))),
        "levels": of(leveled, Sample((*levels, site, smokes), weights=(7, 7, 7, 4, 25))),
        "levels, no answer is random": of(leveled, Sample((*levels, site, smokes)), missing="random"),
        "no answer is random": of(both, Split((site, smokes, device)), missing="random"),
    }


def answers_of(plan: Plan) -> list[dict[str, Any]]:
    """A few people, one of whom gives no answer where that is allowed."""
    names = {name for one in plan.document.attributes for name in one.columns}
    people = [{name: answer for name, answer in one.items() if name in names} for one in ANSWERS]
    if plan.document.missing == "random":
        people[1] |= {name: None for name in ("site", "device") if name in names}
    if plan.names == ("device",):
        people[1]["device"] = 255
        people[0]["device"] = "0x7"
    return people


def answers() -> Iterator[tuple[str, Unlisted, list[Any]]]:
    """Domains, and answers to them that are values, missing or refused."""
    words = [
        "cat",
        "CAT",
        "a",
        "",
        None,
        "abcdefghij",
        "abcdefghijk",
        "abcdefghij!",
        "!",
        "a b",
        " a",
        404,
        1.5,
    ]
    more = ["e\u0301", "é", "\u212b", "\U0001f600", "ab\0", True, [], {}]
    yield "word", dn.Text("a-z", longest=10), [*words, *more]
    yield "site", SITE, [*words, *more, "1.5", "-", "a-b.c", 2026.0]
    yield "short", dn.Text("a-zé", longest=5, cut=False), [*words, *more, "abcde", "abcdef", "e\u0301té"]
    numbers = [
        0,
        1998,
        "1998",
        "0x7ce",
        "0x7CE",
        "0X7ce",
        " 0x7ce ",
        " 7 ",
        "7 ",
        "007",
        "0x",
        "x7",
        "7ce",
        7.0,
    ]
    more = [
        7.5,
        -1,
        "-1",
        "+1",
        "1e3",
        True,
        None,
        "",
        [],
        {},
        2**48 - 1,
        2**48,
        hex(2**48 - 1),
        hex(2**48),
        "٤",
    ]
    yield "device", DEVICE, [*numbers, *more]


def changes() -> Iterator[tuple[str, str | None, Plan, Callable[[Any], None]]]:
    """What is changed in a plan, why it is refused then, and how it is changed."""
    text, code, levels = plans()["text"], plans()["a code"], plans()["levels"]

    def domain(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["attributes"][0]["domain"] |= fields

        return change

    def part(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["mechanism"]["parts"][0] |= fields

        return change

    def level(**fields: Any) -> Callable[[Any], None]:
        def change(data: Any) -> None:
            data["attributes"][0] |= fields

        return change

    coarse = {"kind": "coarse", "factors": [{"name": "site", "domain": domain_to_dict(SITE)}]}
    yield "a level that is no power of two", "coarse", levels, level(domain={**coarse, "divisor": 3 << 30})

    def nearly(data: Any) -> None:  # as a binary logarithm in floats is rounded
        level(name="site to 11 bits", domain={**coarse, "divisor": (1 << 49) + 1})(data)
        part(bits=11)(data)

    yield "a level that is nearly a power of two", "coarse", levels, nearly
    yield "a level of no group", "coarse", levels, level(domain={**coarse, "divisor": 0})
    yield "a level of another length", "fit", levels, level(domain={**coarse, "divisor": 1 << 41})
    yield "a level by another name", "tables", levels, level(name="site to 21 bits")
    yield "a level by its divisor", "tables", levels, level(name=f"site by {1 << 40}")
    yield "levels that no search joins", "tables", levels, _leave_gap
    letters = SITE.letters
    yield "a letter twice", "alphabet", text, domain(alphabet=letters[:-1] + "a")
    yield "one letter", "alphabet", text, domain(alphabet="a")
    yield "a letter of two units", "alphabet", text, domain(alphabet=letters[:-1] + "\U0001f600")
    yield "a letter that is not composed", "alphabet", text, domain(alphabet=letters[:-1] + "\u212b")
    yield "no letters", "text", text, domain(longest=0)
    yield "text that is too long", "text", text, domain(longest=11)
    yield "text that could be listed", "text", text, domain(longest=1)
    yield "text of another length", "fit", text, domain(longest=9)
    yield "cut is a number", "type", text, domain(cut=1)
    yield "a letter more in the same bits", None, text, domain(alphabet=letters + "_")
    yield "text that is refused in place of cut", None, text, domain(cut=False)
    yield "a code of 63 bits", "text", code, domain(bits=63)
    yield "a code of 7 bits", "text", code, domain(bits=7)
    yield "a code of other bits", "fit", code, domain(bits=47)
    yield "a hash of no rows", "rows", code, part(rows=0)
    yield "a hash of nine rows", "rows", code, part(rows=9)
    yield "a hash of no bits", "bits", code, part(bits=0)
    yield "a hash of 63 bits", "bits", code, part(bits=63)
    yield "not likelier", "likelier", code, part(keep=str(1 << 62))
    yield "no answer is a value", "no-answer", text, lambda data: data.update(missing="value")
    yield "text by another mechanism", "fit", text, _by_direct
    yield "text that applies to some", "no-answer", code, _for_some


def _leave_gap(data: Any) -> None:
    """From 20 bits to 60, where a search adds 30."""
    del data["attributes"][1:3], data["mechanism"]["parts"][1:3], data["mechanism"]["weights"][1:3]


def _by_direct(data: Any) -> None:
    data["mechanism"]["parts"][0] = {"kind": "direct", "k": 1 << 20, "keep": str((1 << 64) - 5)}


def _for_some(data: Any) -> None:
    asked = {"name": "has", "domain": {"kind": "categories", "labels": ["yes", "no"]}}
    direct = {"kind": "direct", "k": 2, "keep": str(5 << 61)}
    data["attributes"] = [asked, data["attributes"][0] | {"only_if": {"name": "has", "values": ["yes"]}}]
    data["mechanism"] = {
        "kind": "sample",
        "parts": [direct, data["mechanism"]["parts"][0]],
        "reported": 1,
    }
