"""Makes the vectors of the rules: plans to refuse, each with its reason, and plans just inside of a rule.

Every refused plan breaks one rule of spec/wire.md. The client in `device/` reads them by that text alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import deniable as dn
from deniable.exact import PRIME
from deniable.mechanisms import Direct, Hadamard, Hashed, Mechanism, PackedSubset, Pooled, Subset, Unary
from deniable.plan.domain_json import domain_to_dict
from deniable.plan.losses import Protection
from deniable.plan.mechanism_json import record_to_dict
from deniable.plan.strict_json import mechanism_to_dict
from deniable.randomness import FULL
from deniable.records import Prior, Sample
from deniable.study import Plan
from deniable.wire import Report, Wire, to_batch
from spec.make import chains, groups, levels, near, products, questionnaires, unlisted
from spec.make.vectors import (
    COLORS,
    INCOME,
    KS,
    PRIORS,
    TOWN,
    Case,
    any_faked,
    any_kept,
    code_of,
    faked,
    json_with,
    metric_of_each,
    nested,
    of,
    one_of_each,
    sealed,
    with_domain,
    with_part,
)

SURE = str(FULL - FULL // 8)
"""A threshold at which every mechanism here says the truth more often than not."""
ANY_LOSS = 10**12


def document(plan: Plan) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(plan.to_json())
    return data


def loose(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same plan with stated losses that nothing exceeds, so that nothing else is wrong with it."""
    more = {"record": ANY_LOSS, "attribute": ANY_LOSS}
    return {**data, "losses": {**data["losses"], **more}}


def case(name: str, text: str, refused: str | None, **more: Any) -> Case:
    return {"name": name, "plan": text, "refused": refused, **more}


def changed(data: Mapping[str, Any], refused: str | None, name: str, **fields: Any) -> Case:
    return case(name, sealed(loose({**data, **fields})), refused)


def bins(k: int) -> dict[str, Any]:
    """A domain of any size, in a few bytes."""
    return {
        "kind": "range",
        "low": 0,
        "step": 1,
        "bins": k,
        "digits": 0,
        "open_low": False,
        "open_high": False,
    }


def alone(k: int, part: Mapping[str, Any], rounds: int | None = None) -> dict[str, Any]:
    """A plan with one attribute of k bins."""
    data = document(of(dn.rounds.l_grr(5, 1.0, 2.0), rounds=2) if rounds else of(dn.grr(5, 1.0)))
    repeated = rounds and dict.fromkeys(data["losses"]["repeated"])
    return {
        **with_part({**data, "rounds": rounds}),
        "attributes": [{"name": "count", "domain": bins(k)}],
        "mechanism": {"kind": "single", "parts": [dict(part)]},
        "losses": {"record": ANY_LOSS, "attribute": ANY_LOSS, "repeated": repeated or None},
    }


def accepted(name: str, mechanism: Mechanism, **more: Any) -> Case:
    """A plan that a library makes, with the losses that it has."""
    return case(name, Plan.of({"count": dn.Range(0, mechanism.k)}, mechanism, 1000, **more).to_json(), None)


def refusals() -> Iterator[Case]:
    """All of them, by the tables of the text."""
    yield from texts()
    yield from fields()
    yield from keys()
    yield from survey_texts()
    yield from asking()
    yield from linked()
    yield from turns()
    yield from continued()
    yield from maps()
    yield from questions()
    yield from attributes()
    yield from domains()
    yield from record_mechanisms()
    yield from mechanisms()
    yield from repeated_mechanisms()
    yield from metric_mechanisms()
    yield from losses()


def texts() -> Iterator[Case]:
    plan = of(dn.grr(5, 1.0))
    text, data = plan.to_json(), document(plan)
    yield case("as it is", text, None)
    yield case("white space around", f" \t\r\n{text}\n", None)
    yield case("as long as it may be", text, None, spaces=(1 << 22) - len(text.encode()))
    yield case("a byte too long", text, "length", spaces=(1 << 22) - len(text.encode()) + 1)
    for name, wrong in {
        "nothing": "",
        "half of it": text[:-1],
        "a list": f"[{text}]",
        "a constant": text.replace('"people":1000', '"people":NaN'),
        "a vertical tab before": f"\v{text}",
        "a byte order mark": f"\ufeff{text}",
        "half a pair of surrogates": text.replace('"title":"', '"title":"\\ud83d'),
        "sixteen lists in a list": text.replace('"people":1000', f'"people":{"[" * 16}{"]" * 16}'),
    }.items():
        yield case(name, wrong, "json")
    deep: Any = 0
    for _ in range(15):
        deep = [deep]
    yield changed(data, "type", "as deep as it may be, though no plan is", people=deep)
    for version in (1, 3, "2", None, True):
        yield changed(data, "version", f"version {json.dumps(version)}", version=version)
    yield case("another id", text.replace(plan.id, "0" * 64), "id")
    yield case("an id in capitals", text.replace(plan.id, plan.id.upper()), "id")
    yield case("another title, the same id", text.replace("Kreuz", "Kreis"), "id")
    for people in ("1000.5", "1e-3", "9007199254740992", "-9007199254740993", "1e400", "1" + "0" * 5000):
        # the id is that of no number that all languages hold: the number is looked at before
        yield case(f"people {people[:20]}", text.replace('"people":1000', f'"people":{people}'), "integer")
    for name, wrong in {
        "a space": text.replace(",", ", ", 1),
        "a field twice": text.replace('"people":1000', '"people":1000,"people":1000'),
        "a point": text.replace('"people":1000', '"people":1000.0'),
        "an exponent": text.replace('"people":1000', '"people":1e3'),
        "minus nothing": alone_text(low="-0"),
        "an escape": text.replace("Größe", "Gr\\u00f6\\u00dfe"),
        "a slash that is escaped": sealed({**data, "title": "a/b"}).replace("a/b", "a\\/b"),
        "keys in another order": json.dumps(
            dict(reversed(data.items())), separators=(",", ":"), ensure_ascii=False
        ),
    }.items():
        yield case(name, wrong, "canonical")


def alone_text(low: str) -> str:
    text = Plan.of({"count": dn.Range(0, 5)}, dn.grr(5, 1.0), 1000).to_json()
    return text.replace('"low":0', f'"low":{low}')


def fields() -> Iterator[Case]:
    data = document(of(dn.grr(5, 1.0)))
    yield changed(data, "fields", "a field more", more=1)
    for less in sorted(set(data) - {"id", "version"}):
        yield case(f"without {less}", sealed({k: v for k, v in loose(data).items() if k != less}), "fields")
    attribute = data["attributes"][0]
    yield changed(data, "fields", "a field more of an attribute", attributes=[{**attribute, "unit": "m"}])
    part = data["mechanism"]["parts"][0]
    yield case("a field more of a mechanism", sealed(loose(with_part(data, g=2))), "fields")
    without = {"kind": "single", "parts": [{k: v for k, v in part.items() if k != "keep"}]}
    yield changed(data, "fields", "a field less of a mechanism", mechanism=without)
    for name, value in {
        "title": 7,
        "people": "1000",
        "attributes": {},
        "rounds": "2",
        "losses": [],
    }.items():
        yield case(f"{name} of another type", sealed({**data, name: value}), "type")
    yield changed(data, "type", "true for a number", people=True)
    yield changed(data, "type", "null for a number", people=None)
    yield changed(data, "type", "an attribute that is a list", attributes=[[]])
    yield case("an open end that is 1", sealed(loose(with_domain(data, {**bins(5), "open_low": 1}))), "type")
    yield case("k as text", sealed(loose(with_part(data, k="5"))), "type")
    for people, refused in ((0, "people"), (-1, "people"), (1, None), (2**53 - 1, None)):
        yield changed(data, refused, f"{people} people", people=people)
    for policy in ("drop", 1, None, ["refuse"]):
        yield changed(data, "missing", f"missing {json.dumps(policy)}", missing=policy)


def keys() -> Iterator[Case]:
    data = document(of(dn.grr(5, 1.0)))
    for name, key, refused in (
        ("2,048 bits", "8" + "0" * 510 + "1", None),
        ("4,096 bits", "f" * 1024, None),
        ("fewer bits", "f" * 510, "ticket-key"),
        ("more bits", "f" * 1026, "ticket-key"),
        ("an odd number of digits", "f" * 513, "ticket-key"),
        ("an even modulus", "f" * 511 + "e", "ticket-key"),
        ("a low first bit", "7" + "f" * 511, "ticket-key"),
        ("capitals", "F" * 512, "ticket-key"),
        ("no key", "", "ticket-key"),
        ("null", None, "type"),
    ):
        yield changed(data, refused, f"a ticket key, {name}", ticket_key=key)


def survey_texts() -> Iterator[Case]:
    data = document(of(dn.grr(3, 1.0), {"color": ["red", "green", "blue"]}))
    ages = document(of(dn.grr(5, 1.0), {"age": dn.Range(0, 5)}))
    german = {"de": ["rot", "grün", "blau"]}

    def said(name: str, refused: str | None, among: Mapping[str, Any] = data, **texts: Any) -> Case:
        return changed(among, refused, f"texts, {name}", texts={"language": "en", **texts})

    def about(name: str, refused: str | None, among: Mapping[str, Any] = data, **texts: Any) -> Case:
        return said(name, refused, among, attributes={among["attributes"][0]["name"]: texts})

    everything = {name: {"en": "Some text.\n\nMore."} for name in ("introduction", "consent", "thanks")}
    everything |= {"responsible": {"en": "The institute\nin the city", "de": "Das Institut"}}
    links = {"contact": {"en": "mailto:a@example.org"}, "privacy_notice": {"en": "https://example.org/a?b#c"}}
    yield said("all that there are", None, **everything, **links)
    yield said("nothing", "canonical")
    yield changed(data, "type", "texts, a string", texts="text")
    yield changed(data, "fields", "texts, no language", texts=everything)
    yield said("a language that is no tag", "language", language="english")
    yield said("a language in capitals", "language", introduction={"en": "a", "EN": "a"})
    yield said("a language with a country", None, introduction={"en": "a", "pt-BR": "a", "zh-Hant-TW": "a"})
    yield said("not in the first language", "language", introduction={"de": "a"})
    yield said("in no language", "language", introduction={})
    tags = [f"a{first}{second}" for first in "abcde" for second in "abcde"]
    yield said("in 20 languages", None, thanks={"en": "a"} | dict.fromkeys(tags[:19], "a"))
    yield said("in 21 languages", "language", thanks={"en": "a"} | dict.fromkeys(tags[:20], "a"))
    yield said("an unknown one", "fields", slogan={"en": "a"})
    yield said("a number", "type", thanks={"en": 1})
    yield said("true for a consent", "type", consent=True)
    yield said("a string without a language", "type", thanks="a")
    for name, most in (("introduction", 4000), ("thanks", 2000), ("contact", 500), ("consent", 8000)):
        yield said(f"{name} of {most} characters", None, **{name: {"en": "😀" * most}})
        yield said(f"{name} of {most + 1} characters", "texts", **{name: {"en": "a" * (most + 1)}})
    for text, refused in (("", "text"), ("a\n", "canonical"), (" a", "canonical"), ("a \nb", "text")):
        yield said(f"a thanks {text!r}", refused, thanks={"en": text})
    for text in ("a\tb", "a\u202eb", "a\u2028b", "a\r\nb", "a\u0085", "\x1ca"):
        yield said(f"a thanks {text!r}", "text", thanks={"en": text})
    yield said("a contact on two lines", "text", contact={"en": "a\nb"})
    for link in ("http://example.org", "javascript:alert(1)", "https://", "https://example.org/ä", "here"):
        yield said(f"a privacy notice {link!r}", "texts", privacy_notice={"en": link})
    for link in ("http://example.org", "javascript:alert(1)", "data:text/html,a", "JavaScript:a"):
        yield said(f"a contact {link!r}", "texts", contact={"en": link})
    yield said("a contact that is no link", None, contact={"en": "Phone: 123, room 5"})
    yield said("another title", "texts", title={"en": "a"})
    yield said("the same title", None, title={"en": data["title"], "de": "Ein Titel"})
    yield about("a question", None, question={"en": "Which?"}, help={"en": "a\n\nb"}, labels=german)
    yield about("a question on two lines", "text", question={"en": "Which?\nOne."})
    yield about("a question of 501 characters", "texts", question={"en": "a" * 501})
    yield about("no text of an attribute", "canonical")
    yield said("no attribute", "canonical", attributes={}, thanks={"en": "a"})
    yield said("of another attribute", "texts", attributes={"age": {"help": {"en": "a"}}})
    yield about("an unknown text of an attribute", "fields", hint={"en": "a"})
    yield about("labels in no language", "type", labels={})
    yield about("labels that are no list", "type", labels={"de": "rot"})
    yield about("a label that is no text", "type", labels={"de": ["rot", "grün", 3]})
    yield about("too few labels", "texts", labels={"de": ["rot", "grün"]})
    yield about("labels twice", "texts", labels={"de": ["rot", "rot", "blau"]})
    yield about("a hidden label", "text", labels={"de": ["rot", "grün", "blau\u200b"]})
    yield about("a long label", "texts", labels={"de": ["rot", "grün", "b" * 201]})
    yield about("labels of a range", "texts", ages, labels={"de": list("abcde")})


def asking() -> Iterator[Case]:
    two = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}
    sampled = document(of(dn.smp([3, 2], 1.0, "grr"), two))
    yield changed(sampled, None, "ask, sampled", ask="sampled")
    yield changed(sampled, "canonical", "ask, all", ask="all")
    for name, wrong in {"another word": "drawn", "no text": 1, "null": None, "a list": ["sampled"]}.items():
        yield changed(sampled, "ask", f"ask, {name}", ask=wrong)
    both = document(of(dn.records.Sample((dn.grr(3, 1.0), dn.grr(2, 1.0)), reported=2), two))
    yield changed(both, "ask", "ask, all attributes are drawn", ask="sampled")
    yield changed(document(of(dn.spl([3, 2], 1.0, "grr"), two)), "ask", "ask, a split", ask="sampled")
    yield changed(document(of(dn.grr(2, 1.0), {"a": [1, 2]})), "ask", "ask, one attribute", ask="sampled")
    yield changed(document(of(dn.rsfd([3, 2], 1.0, "grr"), two)), "ask", "ask, fake data", ask="sampled")
    three = {"age": dn.Range(0, 5), **two}
    inside = dn.records.Split((dn.grr(5, 1.0), dn.records.Sample((dn.grr(3, 1.0), dn.grr(2, 1.0)))))
    yield changed(document(of(inside, three)), None, "ask, a sample in a split", ask="sampled")


def linked() -> Iterator[Case]:
    again = document(of(dn.rounds.l_grr(3, 1.0, 2.0), {"color": ["red", "green", "blue"]}, rounds=3))
    yield changed(again, None, "linked", linked=True)
    yield changed(again, "canonical", "linked, false", linked=False)
    for name, wrong in {"a number": 1, "text": "true", "null": None, "a list": [True]}.items():
        yield changed(again, "linked", f"linked, {name}", linked=wrong)
    yield changed(document(of(dn.grr(2, 1.0), {"a": [1, 2]})), "linked", "linked, asked once", linked=True)


def continued() -> Iterator[Case]:
    grr = (dn.rounds.l_grr(3, 1.0, 2.0), 2)
    [_, plan] = chains.plan_chain(grr, (dn.rounds.l_grr(4, 1.0, 2.0), 2))
    data = document(plan)
    for name, refused, fields in chains.broken(data):
        yield changed(data, refused, f"continues, {name}", **fields)
    alone = {name: value for name, value in data.items() if name != "continues"}
    yield changed(alone, "losses", "continues, losses of a chain without one")
    kinds = {
        "": plan,
        " of raised answers": chains.chains()["covered answers"][-1],
        " of removed answers": chains.chains()["other values"][-1],
        " of bits": chains.chains()["symmetric bits, more and less"][-1],
    }
    for title, each in {title: document(plan) for title, plan in kinds.items()}.items():
        chain = each["losses"]["chain"]
        for figure, true in chain.items():
            losses = {**each["losses"], "chain": {**chain, figure: true - 1}}
            yield case(
                f"continues, states less{title}: {figure}", sealed({**each, "losses": losses}), "leaks"
            )
    without = {name: value for name, value in data["losses"].items() if name != "chain"}
    yield case("continues, no losses of a chain", sealed({**data, "losses": without}), "losses")
    cities = data["attributes"][0]["domain"]["labels"]
    l_grr, l_osue = dn.rounds.l_grr, dn.rounds.l_osue
    fewer = chains.plan_chain(grr, (l_grr(2, 1.0, 2.0), 2), labels=("012", "01"))
    [bits] = chains.plan_chain((l_osue(3, 1.0, 2.0), 2))
    for name, part, labels, before in (
        ("odds above 2^16", l_grr(4, 1.0, 11.5), cities, fewer[:1]),
        ("fewer of odds above 2^16", l_grr(2, 1.0, 11.5), cities[:2], fewer[:1]),
        ("fewer bits", l_osue(2, 1.0, 2.0), cities[:2], [bits]),
        ("bits of odds above 2^16", l_osue(3, 1.0, 11.5), cities[:3], [bits]),
        ("other bits", dn.rounds.l_sue(3, 1.0, 3.0), cities[:3], [bits]),
        ("fewer in another order", l_grr(2, 1.0, 2.0), cities[1::-1], fewer[:1]),
        ("no answer left", l_grr(2, 1.0, 2.0), ["a", "b"], fewer[:1]),
        ("an answer that came back", l_grr(3, 1.0, 2.0), cities[:3], fewer),
    ):
        bare = [
            {key: value for key, value in document(each).items() if key not in ("id", "continues")}
            for each in before
        ]
        other = document(of(part, {"city": labels}, rounds=2))
        yield changed(other, "continues", f"continues, {name}", continues=bare)
    yield changed(
        document(of(dn.grr(2, 1.0), {"a": [1, 2]})),
        "continues",
        "continues, asked once",
        continues=data["continues"],
    )


def turns() -> Iterator[Case]:
    again = document(of(dn.rounds.l_grr(3, 1.0, 2.0), {"color": ["red", "green", "blue"]}, rounds=3))
    for number, refused in ((1, None), (2, None), (0, "turns"), (3, "turns"), (-1, "turns"), (4, "turns")):
        yield changed(again, refused, f"{number} turns of 3 rounds", turns=number)
    for name, wrong in {"true": True, "text": "2", "null": None}.items():
        yield changed(again, "type", f"turns, {name}", turns=wrong)
    yield changed({**again, "rounds": 1}, "turns", "1 turn of 1 round", turns=1)
    yield changed(document(of(dn.grr(2, 1.0), {"a": [1, 2]})), "turns", "turns, asked once", turns=1)


def maps() -> Iterator[Case]:
    box = dn.Grid(52.0, 13.0, 53.0, 14.0, rows=3, columns=3, privacy="equal")
    data = document(of(dn.grr(9, 1.0), {"home": box}))
    town = {"name": "Berlin", "x": 1, "y": 4095}

    def drawn(name: str, refused: str | None, **fields: Any) -> Case:
        return changed(data, refused, f"a map, {name}", maps={"home": fields})

    yield drawn("lines and towns", None, lines=[[0, 0, 4095, 4095], [1, 2, 3, 4, 1, 2]], towns=[town])
    yield drawn("towns alone", None, towns=[town, town])
    yield drawn("nothing", "maps")
    yield drawn("no lines", "canonical", lines=[], towns=[town])
    yield drawn("no towns", "canonical", lines=[[0, 0, 1, 1]], towns=[])
    yield drawn("an image", "maps", image="iVBORw0KGgo=")
    yield drawn("lines and an empty image", "maps", lines=[[0, 0, 1, 1]], image="")
    yield drawn("an unknown field", "fields", lines=[[0, 0, 1, 1]], tiles="https://example.org")
    for name, line in {
        "one point": [0, 0],
        "half a point": [0, 0, 1],
        "a point twice": [0, 0, 0, 0],
        "below 0": [0, 0, -1, 0],
        "above 4095": [0, 0, 0, 4096],
    }.items():
        yield drawn(f"a line, {name}", "maps", lines=[line])
    yield drawn("a line of text", "type", lines=["M0 0"])
    yield drawn("a coordinate of text", "type", lines=[[0, 0, "1", 1]])
    yield drawn("4,800 points", None, lines=[[0, 0, 1, 1] * 1200] * 2)
    yield drawn("4,801 points", "maps", lines=[[0, 0, 1, 1] * 1200, [0, 0, 1, 1] * 1200 + [2, 2]])
    for name, refused, one in (
        ("a hidden name", "text", {"name": "Ber\u200blin"}),
        ("no name", "text", {"name": ""}),
        ("a long name", "maps", {"name": "a" * 61}),
        ("outside", "maps", {"x": 4096}),
        ("a height", "fields", {"z": 1}),
        ("a coordinate of text", "type", {"y": "1"}),
    ):
        yield drawn(f"a town, {name}", refused, towns=[town | one])
    yield drawn("a name of 60 characters", None, towns=[town | {"name": "😀" * 60}])
    yield drawn("200 towns", None, towns=[town] * 200)
    yield drawn("201 towns", "maps", towns=[town] * 201)
    yield changed(data, "canonical", "a map, none", maps={})
    yield changed(data, "type", "a map, a list", maps=[])
    yield changed(data, "maps", "a map, of another attribute", maps={"work": {"towns": [town]}})
    color = document(of(dn.grr(3, 1.0), {"home": ["a", "b", "c"]}))
    yield changed(color, "maps", "a map, of categories", maps={"home": {"towns": [town]}})


def questions() -> Iterator[Case]:
    for name, refused, plan, change in questionnaires.changes():
        yield changed(questionnaires.changed(plan, change), refused, f"questions, {name}")
    for name, refused, plan, change in products.changes():
        yield changed(questionnaires.changed(plan, change), refused, f"tables, {name}")
    for name, refused, plan, change in levels.changes():
        yield changed(questionnaires.changed(plan, change), refused, f"levels, {name}")
    for name, refused, plan, change in groups.changes():
        yield changed(questionnaires.changed(plan, change), refused, f"known, {name}")
    for name, why, plan, change in unlisted.changes():
        yield changed(questionnaires.changed(plan, change), why, f"text, {name}")
    for name, reason, plan, change in near.changes():
        yield changed(questionnaires.changed(plan, change), reason, f"near, {name}")


VISIBLE = [
    "a b",
    "é",
    "e\u0301",
    "👨\u200d👩\u200d👧",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u0915\u094d\u200d\u0937",
    "❤\ufe0f\u200d🔥",
    "\ue000",
]
HIDDEN = [
    "",
    " a",
    "a\u00a0",
    "a\u3000",
    "a\nb",
    "a\tb",
    "a\u007fb",
    "a\u0085b",
    "a\u2028b",
    "a\u2029b",
    "a\u200bb",
    "a\u200db",
    "a\u00adb",
    "\ufeffa",
    "\u0645\u06cc\u200c",
    "\u200da",
    "👨\u200d\u200d👩",
    "a\u202eb",
]


def attributes() -> Iterator[Case]:
    data = document(of(dn.grr(5, 1.0)))
    name, domain = data["attributes"][0]["name"], data["attributes"][0]["domain"]
    for text in VISIBLE:
        yield changed(data, None, f"a name {text!a}", attributes=[{"name": text, "domain": domain}])
    for text in HIDDEN:
        wrong = [{"name": text, "domain": domain}]
        yield changed(data, "text", f"a name {text!a}", attributes=wrong)
        if text:
            yield changed(data, "text", f"a title {text!a}", title=text)
    yield changed(data, None, "no title", title="")
    yield changed(data, "attributes", "4,097 attributes", attributes=[0] * 4097)
    three = document(of(dn.spl(KS, 2.0, "grr")))
    color, age, smokes = three["attributes"]
    twice = [color, age, {**smokes, "name": "age"}]
    yield changed(three, "names", "a name twice", attributes=twice)
    yield changed(three, None, "a name in capitals", attributes=[color, age, {**smokes, "name": "AGE"}])
    labels = domain["labels"]

    def labeled(refused: str | None, what: str, *some: str) -> Case:
        return changed(
            data,
            refused,
            what,
            attributes=[{"name": name, "domain": {"kind": "categories", "labels": [*some]}}],
        )

    yield labeled("labels", "a label twice", *labels[:4], labels[0])
    yield labeled("labels", "one label", "a")
    yield labeled("labels", "no label")
    yield labeled("text", "a label with a space", *labels[:4], "a ")
    yield labeled("text", "an empty label", *labels[:4], "")
    yield labeled("canonical", "a label that is not composed", *labels[:4], "e\u0301")
    yield labeled(None, "a label that is composed", *labels[:4], "é")
    six = document(of(dn.grr(6, 1.0), {"city": labels}, missing="value"))
    yield changed(six, None, "no answer is a value", people=1001)
    there = {"kind": "categories", "labels": [*labels[:4], "no answer"]}
    yield case("no answer is a value twice", sealed(loose(with_domain(six, there))), "no-answer")
    yield case("no answer is a label", sealed(loose(with_domain(data, there))), None)


def domains() -> Iterator[Case]:
    part = mechanism_to_dict(dn.grr(5, 1.0))
    data = alone(5, part)

    def ranged(refused: str | None, what: str, **numbers: Any) -> Case:
        return case(what, sealed(with_domain(data, {**bins(5), **numbers})), refused)

    large = 10**15
    for k, refused in ((1, "range"), (0, "range"), (-5, "range")):
        yield ranged(refused, f"{k} bins", bins=k)
    yield case("the most values", sealed(alone(1 << 20, {**part, "k": 1 << 20})), None)
    yield case("a value too many", sealed(alone((1 << 20) + 1, {**part, "k": (1 << 20) + 1})), "values")
    yield ranged("range", "a step of 0", step=0)
    yield ranged("range", "a step down", step=-1)
    yield ranged("range", "16 digits", digits=16, low=1)
    yield ranged(None, "15 digits", digits=15, low=1)
    yield ranged("range", "digits below 0", digits=-1)
    yield ranged("range", "low too low", low=-large - 1)
    yield ranged(None, "low as low as it may be", low=-large)
    yield ranged("range", "high too high", low=large - 4)
    yield ranged(None, "high as high as it may be", low=large - 5)
    yield ranged("canonical", "a digit too many", digits=1, step=10)
    yield ranged(None, "a digit that is needed", digits=1, step=1)
    duchi = document(metric_of_each()["duchi"])
    number = duchi["attributes"][0]["domain"]

    def numbered(refused: str | None, what: str, **numbers: Any) -> Case:
        return case(what, sealed(loose(with_domain(duchi, {**number, **numbers}))), refused)

    yield numbered("number", "a number that goes nowhere", low=5, high=5)
    yield numbered("number", "a number that goes down", low=5, high=4)
    yield numbered("number", "a number too high", high=large + 1)
    yield numbered(None, "a number as high as it may be", high=large)
    yield numbered("number", "a number too low", low=-large - 1)
    yield numbered("number", "a number with 16 digits", digits=16, high=1)
    yield numbered("canonical", "a number with a digit too many", digits=1)
    yield from grids()


def grids() -> Iterator[Case]:
    data = document(of(dn.grr(12, 1.0), {"home": TOWN}))
    box = data["attributes"][0]["domain"]
    degree = 10**9

    def boxed(refused: str | None, what: str, **numbers: Any) -> Case:
        return case(what, sealed(loose(with_domain(data, {**box, **numbers}))), refused)

    world = {"south": -89_900_000_000, "north": 89_900_000_000, "west": 0, "east": 180 * degree}
    yield boxed(None, "half of the world", **world)
    yield boxed("grid", "a grid at a pole", **{**world, "north": 89_900_000_001})
    yield boxed("grid", "a grid at the other pole", **{**world, "south": -89_900_000_001})
    yield boxed("grid", "a grid that goes south", south=box["north"], north=box["south"])
    yield boxed("grid", "a grid without height", south=box["north"])
    yield boxed("grid", "a grid without width", east=box["west"])
    yield boxed("grid", "a grid wider than 180 degrees", **{**world, "west": -1})
    yield boxed("grid", "a grid all around", **{**world, "west": -180 * degree})
    yield boxed(
        "grid", "a grid beyond the 180th meridian", **{**world, "east": 180 * degree + 1, "west": degree}
    )
    yield boxed(None, "a grid across the 180th meridian", west=179 * degree, east=-179 * degree)
    yield boxed("grid", "a grid the long way around", west=degree, east=0)
    yield boxed("grid", "a grid of one row", rows=1, columns=12)
    yield boxed("grid", "too many rows", rows=4097, columns=2)
    direct = mechanism_to_dict(dn.grr(5, 1.0))
    for columns, refused in ((1024, None), (1025, "values")):
        k = 1024 * columns
        text = alone(5, {**direct, "k": k})
        large = {**box, "rows": 1024, "columns": columns}
        yield case(f"a grid of {k} cells", sealed(with_domain(text, large)), refused)


def record_mechanisms() -> Iterator[Case]:
    data = document(of(dn.spl(KS, 2.0, "grr")))
    color, age, smokes = data["mechanism"]["parts"]

    def made(refused: str | None, what: str, **mechanism: Any) -> Case:
        return changed(data, refused, what, mechanism=mechanism)

    every = [color, age, smokes]
    yield made("kind", "an unknown record mechanism", kind="none", parts=every)
    yield made("kind", "a mechanism for records", **color)
    yield made(
        "kind", "a single in a split", kind="split", parts=[color, age, {"kind": "single", "parts": [smokes]}]
    )
    yield made(
        "kind", "an unknown mechanism", kind="split", parts=[color, age, {**smokes, "kind": "laplace"}]
    )
    for name, broken in (("without a kind", {"k": 2}), ("that is a number", 2), ("that is a list", [2])):
        yield made("kind", f"a mechanism {name}", kind="split", parts=[color, age, broken])
        yield changed(data, "kind", f"a record mechanism {name}", mechanism=broken)
        domains = [*data["attributes"][:2], {"name": "smokes", "domain": broken}]
        yield changed(data, "kind", f"a domain {name}", attributes=domains)
    yield changed(data, "parts", "no attribute", attributes=[])
    yield made("parts", "a single of three", kind="single", parts=every)
    yield made("parts", "a single of none", kind="single", parts=[])
    yield made("parts", "a part too few", kind="split", parts=[color, age])
    yield made("parts", "a part too many", kind="split", parts=[*every, smokes])
    yield made(
        "parts",
        "a split of one part",
        kind="split",
        parts=[{"kind": "sample", "parts": every, "reported": 1}],
    )
    one = {"kind": "sample", "parts": [smokes], "reported": 1}
    yield made("parts", "a sample of one part", kind="split", parts=[color, age, one])
    for reported, refused in ((0, "reported"), (1, None), (3, None), (4, "reported"), (-1, "reported")):
        yield made(refused, f"{reported} of three reported", kind="sample", parts=every, reported=reported)
    yield from weights_of(made, every)
    yield made("fit", "parts in another order", kind="split", parts=[age, color, smokes])
    asked = [{**one, "domain": bins(1 << 20)} for one in data["attributes"]]
    wide = mechanism_to_dict(Unary(1 << 20, FULL // 2, FULL // 4))
    fourth = [*asked, {"name": "income", "domain": bins(1 << 20)}]
    fifth = [*fourth, {"name": "height", "domain": bins(2)}]
    split = {"kind": "split", "parts": [wide] * 4}
    yield changed(data, None, "as many words as there may be", attributes=fourth, mechanism=split)
    more = {"kind": "split", "parts": [*[wide] * 4, smokes]}
    yield changed(data, "words", "too many words", attributes=fifth, mechanism=more)
    yield changed(
        data, "words", "a random answer too many", attributes=fourth, mechanism=split, missing="random"
    )
    yield from fakes()


def fakes() -> Iterator[Case]:
    data = document(of(dn.records.rsrfd(KS, 1.0, PRIORS, "grr")))
    first, *others = data["mechanism"]["fakes"]

    def faked(refused: str | None, what: str, *made: Any) -> Case:
        return changed(data, refused, what, mechanism={"kind": "faked", "fakes": [*made]})

    def with_prior(refused: str | None, what: str, prior: Any) -> Case:
        return faked(refused, what, {**first, "prior": prior}, *others)

    weights = [int(weight) for weight in first["prior"]]
    yield faked("kind", "an unknown fake", {**first, "kind": "none"}, *others)
    for broken in ({"prior": "uniform"}, 2, {**first, "part": 2}, {**first, "part": {"k": 5}}):
        yield faked("kind", f"a fake that is {json.dumps(broken)[:40]}", broken, *others)
    subset = mechanism_to_dict(dn.ss(5, 1.0))
    yield faked(None, "a fake of a packed subset", {**first, "part": subset}, *others)
    unary = mechanism_to_dict(dn.oue(5, 1.0))
    yield faked("kind", "a guess among bits", {"kind": "guessed", "part": unary, "prior": "uniform"}, *others)
    yield faked(
        "fields", "a blank with a prior", {"kind": "blank", "part": unary, "prior": "uniform"}, *others
    )
    yield faked("parts", "one fake", first)
    yield with_prior(None, "a uniform prior", "uniform")
    yield with_prior("type", "a prior by another name", "flat")
    yield with_prior(
        "prior", "a prior of four values", [str(weights[0] + weights[4]), *map(str, weights[1:4])]
    )
    yield with_prior("prior", "a prior that is a word short", [str(weights[0] - 1), *map(str, weights[1:])])
    yield with_prior(
        "threshold", "a prior without a value", [str(weights[0] + weights[4]), *map(str, weights[1:4]), "0"]
    )
    uniform = list(map(str, Prior.uniform(5).weights))
    yield with_prior("canonical", "a uniform prior in words", uniform)
    yield with_prior(None, "a prior that is almost uniform", [uniform[1], uniform[0], *uniform[2:]])
    assert uniform[0] != uniform[1]
    yield from kept_fakes()


def kept_fakes() -> Iterator[Case]:
    """Fakes around two rounds."""
    data = document(of(dn.rounds.l_rsfd(KS, 1.0, 2.0, "l_grr"), rounds=2))
    first, *others = data["mechanism"]["fakes"]

    def faked(refused: str | None, what: str, *made: Mapping[str, Any]) -> Case:
        loose_figures = dict.fromkeys(data["losses"]["repeated"])
        loosened = {**data["losses"], "record": 9 * 10**9, "attribute": 9 * 10**9, "repeated": loose_figures}
        changed_plan = {**data, "losses": loosened, "mechanism": {"kind": "faked", "fakes": [*made]}}
        return case(f"kept fakes, {what}", sealed(changed_plan), refused)

    bits = mechanism_to_dict(dn.rounds.l_osue(5, 1.0, 2.0))
    yield faked(None, "values and bits", {"kind": "blank", "part": bits}, *others)
    yield faked(None, "imitated bits", {"kind": "imitated", "part": bits, "prior": "uniform"}, *others)
    yield faked("shape", "a guess among bits", {"kind": "guessed", "part": bits, "prior": "uniform"}, *others)
    yield faked("shape", "no value at all", {"kind": "blank", "part": first["part"]}, *others)
    for name, part in (
        ("a hash", dn.rounds.loloha(5, 1.0, 2.0)),
        ("a public hash", dn.rounds.l_plh(5, 1.0, 2.0)),
        ("some bits", dn.rounds.dbitflip(5, 1.0, bits=2)),
    ):
        yield faked("kind", name, {**first, "part": mechanism_to_dict(part)}, *others)
    once = mechanism_to_dict(dn.grr(5, 1.0))
    yield faked("rounds", "one that is not kept", {**first, "part": once}, *others)
    yield case("kept fakes, without rounds", sealed({**data, "rounds": None}), "rounds")
    hashed, flipped = (
        mechanism_to_dict(part)
        for part in (dn.rounds.loloha(5, 1.0, 2.0), dn.rounds.dbitflip(5, 1.0, bits=2))
    )
    yield faked(None, "a blank hash", {"kind": "blank", "part": hashed}, *others)
    yield faked("rounds", "blank bits beside values", {"kind": "blank", "part": flipped}, *others)
    yield faked("kind", "an imitated hash", {"kind": "imitated", "part": hashed, "prior": "uniform"}, *others)
    yield faked("kind", "imitated bits", {"kind": "imitated", "part": flipped, "prior": "uniform"}, *others)
    yield from fakes_of_sets()


def fakes_of_sets() -> Iterator[Case]:
    """Fakes of every shape of a set of values, and of what is none."""
    data = document(of(dn.records.rsrfd(KS, 1.0, PRIORS, "grr")))
    first, *others = data["mechanism"]["fakes"]

    def faked(refused: str | None, what: str, made: Mapping[str, Any], part: Mechanism) -> Case:
        fake = {**made, "part": mechanism_to_dict(part)}
        return changed(data, refused, what, mechanism={"kind": "faked", "fakes": [fake, *others]})

    blank, imitated = {"kind": "blank"}, {"kind": "imitated", "prior": "uniform"}
    for name in ("ss", "olh", "plh", "hr"):
        part = dn.PROTOCOLS[name].make(5, 0.9)
        yield faked(None, f"a blank {part.title}", blank, part)
        yield faked(None, f"an imitated {part.title}", imitated, part)
        yield faked(None, f"an imitated {part.title} from a prior", first, part)
        yield faked("kind", f"a guessed {part.title}", {**imitated, "kind": "guessed"}, part)
    yield faked("fit", "a blank set of six", blank, dn.ss(6, 0.9))
    yield faked("prior", "a prior of five for six", first, dn.ss(6, 0.9))
    yield faked("kind", "a blank value", blank, dn.grr(5, 0.9))
    for made in (blank, imitated):
        yield faked("kind", f"a metric value, {made['kind']}", made, dn.metric.geometric(4, 0.5))


def weights_of(made: Callable[..., Case], every: list[Any]) -> Iterator[Case]:
    """A sample of three attributes, drawn by weights."""
    for what, weights, refused in (
        ("three weights", [3, 1, 2], None),
        ("weights of 2^16", [1, 2, (1 << 16) - 3], None),
        ("weights of 2^16 + 1", [1, 2, (1 << 16) - 2], "weights"),
        ("a weight of 0", [0, 1, 2], "weights"),
        ("a weight below 0", [5, -1, 2], "weights"),
        ("a weight too few", [1, 2], "weights"),
        ("a weight too many", [1, 2, 3, 4], "weights"),
        ("no weight", [], "weights"),
        ("equal weights", [1, 1, 1], "canonical"),
        ("a common divisor of weights", [6, 2, 4], "canonical"),
        ("a weight in words", ["3", 1, 2], "type"),
        ("a weight that is true", [True, 3, 2], "type"),
        ("weights that are no list", 3, "type"),
        ("weights that are null", None, "type"),
    ):
        yield made(refused, what, kind="sample", parts=every, reported=1, weights=weights)
    yield made("weights", "weights of two", kind="sample", parts=every, reported=2, weights=[3, 1, 2])
    yield made("fields", "weights of a split", kind="split", parts=every, weights=[3, 1, 2])


def least_keep(k: int) -> int:
    """The least keep by which the true one of k values is likelier than any other."""
    most = -(-FULL // (k - 1))
    return FULL * most // (FULL + most) + 1


def mechanisms() -> Iterator[Case]:
    direct = mechanism_to_dict(dn.grr(5, 1.0))
    for name, keep in {
        "0": "0",
        "a sign": "+5",
        "a leading zero": "05",
        "2^64": str(FULL),
        "a number": 2**50,
        "letters": "5e9",
        "other digits": "\u0665",
    }.items():
        yield case(f"keep, {name}", sealed(alone(5, {**direct, "keep": keep})), "threshold")
    yield accepted("keep, 2^64 - 1", Direct(5, FULL - 1))
    for k in (2, 3, 5):
        keep = least_keep(k)
        yield accepted(f"direct {k}, just likelier", Direct(k, keep))
        yield case(
            f"direct {k}, not likelier",
            sealed(alone(k, {**direct, "k": k, "keep": str(keep - 1)})),
            "likelier",
        )
    unary = {"kind": "unary", "k": 5, "one": SURE, "zero": SURE}
    yield case("unary, not likelier", sealed(alone(5, unary)), "likelier")
    yield accepted("unary, just likelier", Unary(5, int(SURE), int(SURE) - 1))
    yield case("unary, the other way round", sealed(alone(5, {**unary, "one": "5", "zero": "6"})), "likelier")
    subset = {"kind": "subset", "k": 4, "size": 1, "keep": str(FULL // 4)}
    yield case("subset, not likelier", sealed(alone(4, subset)), "likelier")
    yield accepted("subset, just likelier", Subset(4, 1, FULL // 4 + 1))
    for size, refused in ((0, "size"), (4, "size")):
        yield case(f"subset, {size} of 4", sealed(alone(4, {**subset, "size": size, "keep": SURE})), refused)
    yield accepted("subset, 3 of 4", Subset(4, 3, int(SURE)))
    large = {**subset, "k": (1 << 16) + 1, "keep": SURE}
    yield case("subset, too many values", sealed(alone((1 << 16) + 1, large)), "k")
    yield accepted("subset, the most values", Subset(1 << 16, 1, int(SURE)))
    packed = {**subset, "kind": "packed-subset"}
    yield case("packed subset, not likelier", sealed(alone(4, packed)), "likelier")
    yield accepted("packed subset, just likelier", PackedSubset(4, 1, FULL // 4 + 1))
    for size in (0, 4):
        none = sealed(alone(4, {**packed, "size": size, "keep": SURE}))
        yield case(f"packed subset, {size} of 4", none, "size")
    large = {**packed, "k": (1 << 16) + 1, "keep": SURE}
    yield case("packed subset, too many values", sealed(alone((1 << 16) + 1, large)), "k")
    yield accepted("packed subset, the most values", PackedSubset(1 << 16, 1 << 14, int(SURE)))
    sizeless = {name: value for name, value in packed.items() if name != "size"}
    yield case("packed subset, without a size", sealed(alone(4, sizeless)), "fields")
    hashed = {"kind": "hashed", "k": 5, "g": 2, "keep": SURE}
    for g in (1, 0, PRIME):
        yield case(f"hashed, {g} buckets", sealed(alone(5, {**hashed, "g": g})), "g")
    yield accepted("hashed, the most buckets", Hashed(5, PRIME - 1, int(SURE)))
    yield case("hashed, not likelier", sealed(alone(5, {**hashed, "keep": str(FULL // 2)})), "likelier")
    yield accepted("hashed, just likelier", Hashed(5, 2, FULL // 2 + 1))
    pooled = {"kind": "pooled", "k": 5, "g": 3, "keep": SURE}
    for g in (1, 0, -3, 4, 49, 253, 257, PRIME):
        yield case(f"pooled, {g} buckets", sealed(alone(5, {**pooled, "g": g})), "g")
    yield case("pooled, too many functions", sealed(alone(70_000, {**pooled, "k": 70_000, "g": 251})), "g")
    for wrong, refused in ((3.5, "integer"), ("3", "type"), (None, "type")):
        yield case(f"pooled, {wrong!r} buckets", sealed(alone(5, {**pooled, "g": wrong})), refused)
    yield case("pooled, a seed", sealed(alone(5, {**pooled, "seed": 1})), "fields")
    yield accepted("pooled, the most buckets", Pooled(5, 251, int(SURE)))
    large = alone(1 << 20, {**pooled, "k": (1 << 20) + 1, "g": 2})
    yield case("pooled, too many values", sealed({**large, "missing": "value"}), "k")
    yield accepted("pooled, the most values", Pooled(1 << 20, 2, int(SURE)))
    yield case(
        "pooled, not likelier", sealed(alone(5, {**pooled, "keep": str(least_keep(3) - 1)})), "likelier"
    )
    yield accepted("pooled, just likelier", Pooled(5, 3, least_keep(3)))
    hadamard = {"kind": "hadamard", "k": 1 << 20, "keep": SURE}
    yield case("hadamard, too many values", sealed(alone(1 << 20, hadamard)), "k")
    yield accepted("hadamard, the most values", Hadamard((1 << 20) - 1, int(SURE)))
    yield case(
        "hadamard, not likelier", sealed(alone(5, {**hadamard, "k": 5, "keep": str(FULL // 2)})), "likelier"
    )
    data = alone(1 << 20, {"kind": "unary", "k": (1 << 20) + 1, "one": SURE, "zero": "1"})
    yield case("unary, too many values", sealed({**data, "missing": "value"}), "k")
    yield case("one value", sealed(alone(5, {**direct, "k": 1})), "k")
    for wrong in (4, 6):
        yield case(f"{wrong} values of five", sealed(alone(5, {**direct, "k": wrong, "keep": SURE})), "fit")
    yield case("a mean of bins", sealed(alone(5, {"kind": "duchi", "keep": SURE})), "fit")


def repeated_mechanisms() -> Iterator[Case]:
    direct = {"kind": "direct", "k": 5, "keep": SURE}
    unary = {"kind": "unary", "k": 5, "one": SURE, "zero": "1000"}

    def memoized(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
        return {"kind": "memoized", "first": dict(first), "second": dict(second)}

    def asked(refused: str | None, what: str, part: Mapping[str, Any], rounds: int | None = 2) -> Case:
        return case(what, sealed(alone(5, part, rounds)), refused)

    yield asked(None, "memoized", memoized(direct, direct))
    yield asked("shape", "memoized, of two shapes", memoized(direct, unary))
    yield asked("shape", "memoized, of two sizes", memoized(direct, {**direct, "k": 6}))
    yield asked(
        "kind", "memoized, a subset", memoized(direct, {"kind": "subset", "k": 5, "size": 1, "keep": SURE})
    )
    buckets = memoized({**direct, "k": 3}, {**direct, "k": 3})
    yield asked(None, "hashed-memoized", {"kind": "hashed-memoized", "k": 5, "buckets": buckets})
    yield asked(
        "shape",
        "hashed-memoized, bits",
        {"kind": "hashed-memoized", "k": 5, "buckets": memoized(unary, unary)},
    )
    yield asked("kind", "hashed-memoized, one round", {"kind": "hashed-memoized", "k": 5, "buckets": direct})

    def pooled(refused: str | None, what: str, g: int, k: int = 5) -> Case:
        shape = {**direct, "k": g}
        part = {"kind": "pooled-memoized", "k": k, "buckets": memoized(shape, shape)}
        return case(f"pooled-memoized, {what}", sealed(alone(k, part, 2)), refused)

    yield pooled(None, "three buckets", 3)
    yield pooled(None, "the most buckets", 251)
    yield pooled("g", "four buckets", 4)
    yield pooled("g", "257 buckets", 257)
    yield pooled("g", "too many functions", 251, 70_000)
    of_bits = {"kind": "pooled-memoized", "k": 5, "buckets": memoized(unary, unary)}
    yield asked("shape", "pooled-memoized, bits", of_bits)
    huge = {**direct, "k": (1 << 24) + 1}
    yield asked(
        "k",
        "hashed-memoized, too many buckets",
        {"kind": "hashed-memoized", "k": 5, "buckets": memoized(huge, huge)},
    )
    two = {**direct, "k": 2}
    mean = document(of(dn.rounds.l_duchi(0.5, 1.0), {"income": INCOME}, rounds=2))
    mean["losses"]["repeated"] = dict.fromkeys(mean["losses"]["repeated"], ANY_LOSS)
    for refused, what, bit in (
        (None, "of a bit", memoized(two, two)),
        ("shape", "of three values", buckets),
        ("shape", "of unary bits", memoized({**unary, "k": 2}, {**unary, "k": 2})),
        ("kind", "in one round", two),
    ):
        one = {"kind": "single", "parts": [{"kind": "memoized-mean", "bit": bit}]}
        yield case(f"memoized-mean, {what}", sealed(loose({**mean, "mechanism": one})), refused)
    steps = mechanism_to_dict(dn.metric.geometric(4, 1.0))
    stays = document(of(replace(dn.metric.geometric(4, 1.0), kept=True), {"age": dn.Range(0, 5)}, rounds=2))
    for refused, kept in ((None, True), ("canonical", False), ("type", 1), ("type", None)):
        one = {"kind": "single", "parts": [{**steps, "kept": kept}]}
        yield case(f"geometric, kept {json.dumps(kept)}", sealed({**stays, "mechanism": one}), refused)
    forgotten = {"kind": "single", "parts": [steps]}
    yield case("geometric, not kept but with rounds", sealed({**stays, "mechanism": forgotten}), "rounds")
    yield asked("fields", "direct, kept", {**direct, "kept": True})
    bins_of_it = {"kind": "memoized-mean", "bit": memoized(two, two)}
    yield asked("fit", "memoized-mean, of bins", bins_of_it)
    flips = {"kind": "bit-flip", "k": 5, "bits": 2, "one": SURE, "zero": "1000"}
    for bits, refused in ((0, "bits"), (1, None), (5, None), (6, "bits")):
        yield asked(refused, f"bit-flip, {bits} of 5", {**flips, "bits": bits})
    yield asked("likelier", "bit-flip, not likelier", {**flips, "zero": SURE})
    yield asked("threshold", "bit-flip, 2^64", {**flips, "one": str(FULL)})
    for rounds, refused in ((1, None), (1000, None), (1001, "rounds"), (0, "rounds")):
        data = {**alone(5, memoized(direct, direct), 2), "rounds": rounds}
        yield case(f"{rounds} rounds", sealed(data), refused)
    once = {**alone(5, memoized(direct, direct), 2), "rounds": None}
    without = {**once["losses"], "repeated": None}
    yield case("memoized, without rounds", sealed({**once, "losses": without}), "rounds")
    again = alone(5, direct, 2)
    yield case("rounds of what answers once", sealed(again), "rounds")
    yield from fresh_beside_kept()


def fresh_beside_kept() -> Iterator[Case]:
    """Answers with fresh noise in every round, beside one that is kept."""
    kept = mechanism_to_dict(dn.rounds.l_grr(5, 0.5, 1.0))
    fakes = record_to_dict(dn.rsfd(KS[1:], 1.0))
    bits = record_to_dict(dn.records.near_bits(2, 2.0))
    plan = document(of(dn.records.Split(tuple(dn.rounds.l_grr(k, 0.5, 1.0) for k in KS)), rounds=5))
    asked = plan["attributes"]
    two = [asked[0], *({**asked[2], "name": name} for name in ("smokes", "drinks"))]
    word = {"name": "word", "domain": domain_to_dict(unlisted.SITE)}
    for name, refused, about, parts in (
        ("some answer once, by a larger loss", "leaks", asked, [kept, *map(fresh, KS[1:])]),
        ("a fake", "rounds", asked, [kept, fakes]),
        ("near bits", "rounds", two, [kept, bits]),
        ("text", "rounds", [asked[0], word], [kept, mechanism_to_dict(dn.mechanisms.linear(60, 1.0))]),
    ):
        split = {"kind": "split", "parts": parts}
        yield changed(plan, refused, f"fresh beside kept, {name}", attributes=about, mechanism=split)
    age = {"name": "age", "domain": domain_to_dict(dn.Range(0, 5))}
    parts = [kept, mechanism_to_dict(dn.metric.geometric(4, 1.0))]
    metric = {"kind": "split", "parts": parts}
    yield changed(plan, "rounds", "fresh beside kept, metric", attributes=[asked[0], age], mechanism=metric)
    alone = {"kind": "split", "parts": list(map(fresh, KS))}
    yield changed(plan, "rounds", "fresh, with nothing kept", mechanism=alone)


def fresh(k: int) -> dict[str, Any]:
    return mechanism_to_dict(dn.grr(k, 1.0))


def metric_mechanisms() -> Iterator[Case]:
    plans = metric_of_each()
    line, plane, number = (document(plans[kind]) for kind in ("geometric", "planar-geometric", "piecewise"))
    tails = [int(tail) for tail in line["mechanism"]["parts"][0]["tails"]]

    def tailed(refused: str | None, what: str, table: list[int]) -> Case:
        return case(f"tails, {what}", sealed(loose(with_part(line, tails=list(map(str, table))))), refused)

    yield tailed("tails", "that add up to less", [tails[0] - 1, *tails[1:]])
    yield tailed("tails", "that fall by more", [*tails[:-1], 1])
    yield tailed("tails", "that rise", [*tails[:-1], tails[-2] + 1])
    yield tailed("tails", "that are one", [FULL - 1])
    some = {"kind": "categories", "labels": list("abcdefgh")}
    yield case("geometric noise of labels", sealed(loose(with_domain(line, some))), "fit")
    yield case("geometric noise of fewer bins", sealed(loose(with_domain(line, bins(7)))), "fit")
    yield changed(line, "no-answer", "geometric noise of no answer", missing="value")
    yield changed(number, "no-answer", "a mean of no answer", missing="value")
    part = plane["mechanism"]["parts"][0]
    height, width = part["steps"]
    for steps, refused in (
        ([height, width], None),
        ([1, 1], "leaks"),
        ([height + 2, width], "steps"),
        ([height, width + 2], "steps"),
        ([0, width], "steps"),
        ([height], "steps"),
        ([height, width, 1], "steps"),
        ([height, str(width)], "type"),
    ):
        yield case(f"steps {steps}", sealed(loose(with_part(plane, steps=steps))), refused)
    noise = part["noise"]
    yield case("noise of one row", sealed(loose(with_part(plane, noise=noise[:1]))), "noise")
    yield case("noise of no row", sealed(loose(with_part(plane, noise=[]))), "noise")
    yield case(
        "noise in rows of two lengths",
        sealed(loose(with_part(plane, noise=[noise[0][:3], *noise[1:]]))),
        "noise",
    )
    flat = flat_noise(2, 1025)
    box = plane["attributes"][0]["domain"]
    wide = with_domain(with_part(plane, noise=flat), {**box, "rows": 2, "columns": 1025})
    yield case("noise of 2,050 cells", sealed(loose(wide)), "noise")
    yield from means(number)
    yield case("metric cells, too many together", too_many_cells(plane), "cells")


def means(number: Mapping[str, Any]) -> Iterator[Case]:
    part = number["mechanism"]["parts"][0]

    def averaged(refused: str | None, what: str, **numbers: Any) -> Case:
        return case(f"piecewise, {what}", sealed(loose(with_part(number, **numbers))), refused)

    yield averaged("k", "one bin", k=1)
    yield averaged("window", "no window", window=0)
    yield averaged("outputs", "an output too many", k=4000, window=98, keep=SURE)
    yield averaged(None, "the most outputs", k=4000, window=97, keep=SURE)
    yield averaged("likelier", "not likelier", k=3, window=2, keep=str(FULL // 2))
    yield averaged(None, "just likelier", k=3, window=2, keep=str(FULL // 2 + 1))
    duchi = {"kind": "duchi", "keep": SURE}
    with_duchi = {**number, "mechanism": {"kind": "single", "parts": [duchi]}}
    for keep, refused in (
        (FULL // 2, "likelier"),
        (FULL // 2 + 1, None),
        (FULL - 1, None),
        (FULL, "threshold"),
    ):
        yield case(f"duchi, keep {keep}", sealed(loose(with_part(with_duchi, keep=str(keep)))), refused)
    fine = {**part, "k": 4000, "keep": SURE}
    for window, refused in ((95, None), (96, "outputs")):
        hybrid = {"kind": "hybrid", "piecewise": {**fine, "window": window}, "duchi": duchi, "share": SURE}
        mechanism = {"kind": "single", "parts": [hybrid]}
        yield changed(number, refused, f"hybrid, a window of {window}", mechanism=mechanism)
    hybrid = {"kind": "hybrid", "piecewise": part, "duchi": part, "share": SURE}
    yield changed(number, "kind", "hybrid, twice piecewise", mechanism={"kind": "single", "parts": [hybrid]})
    yield case(
        "a number with values",
        sealed(
            loose({**number, "mechanism": {"kind": "single", "parts": [mechanism_to_dict(dn.grr(5, 1.0))]}})
        ),
        "fit",
    )


def flat_noise(rows: int, columns: int) -> list[list[str]]:
    """A word for every displacement, and all others for none."""
    table = [["1"] * columns for _ in range(rows)]
    table[0][0] = str(FULL - (2 * rows - 1) * (2 * columns - 1) + 1)
    return table


def too_many_cells(plane: Mapping[str, Any]) -> str:
    name, box = plane["attributes"][0]["name"], plane["attributes"][0]["domain"]
    part = {**plane["mechanism"]["parts"][0], "noise": flat_noise(2, 1024), "steps": [1, 1]}
    attributes = [
        {"name": f"{name} {number}", "domain": {**box, "rows": 2, "columns": 1024}} for number in range(9)
    ]
    units = [{"loss": ANY_LOSS, "name": one["name"], "unit": "kilometer"} for one in attributes]
    losses = {
        "record": ANY_LOSS,
        "attribute": ANY_LOSS,
        "repeated": None,
        "metric": {"rest": 0, "units": units},
    }
    mechanism = {"kind": "split", "parts": [part] * 9}
    return sealed({**plane, "attributes": attributes, "mechanism": mechanism, "losses": losses})


def losses() -> Iterator[Case]:
    plain = document(of(dn.grr(5, 1.0)))
    again = document(of(dn.rounds.l_osue(5, 1.0, 2.0), rounds=2))
    mixed = document(metric_of_each()["mixed, split"])
    faked = document(of(dn.rsfd(KS, 1.0, "oue-z")))
    fakes = document(of(dn.rounds.l_rsfd(KS, 1.0, 2.0, "l_osue-r"), rounds=3))

    def stated(data: Mapping[str, Any], refused: str | None, what: str, **figures: Any) -> Case:
        return case(what, sealed({**data, "losses": {**data["losses"], **figures}}), refused)

    plans = {"direct": plain, "memoized": again, "mixed": mixed, "faked": faked, "kept fakes": fakes}
    for name, data in plans.items():
        for figure in ("record", "attribute"):
            true = data["losses"][figure]
            for more, refused in ((-1, "leaks"), (0, None), (1, None)):
                yield stated(data, refused, f"{name}, {figure} {more:+}", **{figure: true + more})
    turned = document(of(dn.rounds.l_osue(5, 1.0, 2.0), rounds=52).with_turns(4))
    for figure, true in turned["losses"]["repeated"].items():
        # as if nobody saw in which rounds a device is silent
        less = math.ceil(1e9 * math.log1p(math.expm1(true / 1e9) * 4 / 52))
        what = f"4 turns of 52, {figure} as if silence were hidden"
        yield stated(turned, "leaks", what, repeated={**turned["losses"]["repeated"], figure: less})
    for name, data in {"memoized": again, "kept fakes": fakes, "4 turns of 52": turned}.items():
        repeated = data["losses"]["repeated"]
        for figure, true in repeated.items():
            for value, refused in ((true - 1, "leaks"), (true + 1, None), (None, None)):
                what = f"{name}, {figure} {'null' if value is None else value - true}"
                yield stated(data, refused, what, repeated={**repeated, figure: value})
    repeated = again["losses"]["repeated"]
    flips = document(of(dn.rounds.dbitflip(20, 2.0, bits=4), rounds=2))
    figures = {**flips["losses"]["repeated"], "changing_values": 2**53 - 1}
    yield stated(flips, "leaks", "bit-flip, a bound where there is none", repeated=figures)
    yield stated(again, "losses", "memoized, without repeated losses", repeated=None)
    yield stated(plain, "losses", "direct, with repeated losses", repeated=repeated)
    yield stated(plain, "type", "direct, a loss of null", record=None)
    metric = mixed["losses"]["metric"]
    yield stated(plain, "losses", "direct, with metric losses", metric=metric)
    yield stated(mixed, "leaks", "mixed, less of the rest", metric={**metric, "rest": metric["rest"] - 1})
    yield stated(mixed, None, "mixed, more of the rest", metric={**metric, "rest": metric["rest"] + 1})
    for j, unit in enumerate(metric["units"]):
        for change, refused in (
            ({"loss": unit["loss"] - 1}, "leaks"),
            ({"loss": unit["loss"] + 1}, None),
            ({"name": "shoe size"}, "losses"),
            ({"unit": "mile"}, "losses"),
        ):
            units = [{**one, **change} if i == j else one for i, one in enumerate(metric["units"])]
            yield stated(mixed, refused, f"mixed, {json.dumps(change)}", metric={**metric, "units": units})
    swapped = {**metric, "units": metric["units"][::-1]}
    yield stated(mixed, "losses", "mixed, units in another order", metric=swapped)
    for data in (plain, mixed):
        yield stated(data, "type", f"metric losses of null, {len(data['attributes'])} questions", metric=None)
    yield stated(mixed, "losses", "mixed, a unit less", metric={**metric, "units": metric["units"][:1]})


def cells() -> Iterator[Case]:
    """Locations at the edges of grids, each with its cell; null for one that is refused."""
    ocean = dn.Grid(-17.3, 179.5, -16.3, -179.5, rows=5, columns=7)
    for name, grid in {
        "seven rows": dn.Grid(-10, -10, 10, 10, rows=7, columns=7),
        "a town": dn.Grid(47.6, 6.8, 47.7, 6.95, rows=20, columns=49),
        "across the 180th meridian": ocean,
        "from the 180th meridian": dn.Grid(0, -180, 30, -150, rows=3, columns=11),
        "to the 180th meridian": dn.Grid(-89.9, 0, 89.9, 180, rows=49, columns=103),
    }.items():
        data = alone(5, mechanism_to_dict(dn.grr(grid.k, 1.0)))
        box = {"kind": "grid", **grid.corners, "rows": grid.rows, "columns": grid.columns}
        pairs = [*locations_of(grid)]
        yield {
            "name": f"cells of {name}",
            "plan": sealed(with_domain(data, box)),
            "answers": [[pair, code_of(grid, pair)] for pair in pairs],
        }


def locations_of(grid: dn.Grid) -> Iterator[list[float]]:
    """Every edge, a float before it and after it, and the same longitude once around."""
    middle = (grid.south + grid.north) / 2
    wide = (grid.east - grid.west) % 360
    for row in range(grid.rows + 1):
        edge = grid.south + row * (grid.north - grid.south) / grid.rows
        for latitude in (math.nextafter(edge, -90), edge, math.nextafter(edge, 90)):
            yield [latitude, grid.west]
    for column in range(grid.columns + 1):
        edge = grid.west + column * wide / grid.columns
        for longitude in (math.nextafter(edge, -400), edge, math.nextafter(edge, 400)):
            yield [middle, longitude]
    for latitude in (grid.north, math.nextafter(grid.north, -90), math.nextafter(grid.north, 90)):
        yield [latitude, grid.east]
    for turn in (-360, 360):
        for longitude in (grid.west + turn, grid.east + turn, grid.west + wide / 2 + turn):
            yield [middle, longitude]
    for longitude in (180, -180, 360, -360, math.nextafter(360, 400), math.nextafter(-360, -400), 540, -0.0):
        yield [middle, longitude]


def ratios() -> Iterator[Case]:
    """Plans that state their true losses, with R and A as exact fractions."""
    for name, plan in loss_plans().items():
        exact = (plan.mechanism.ratio(per) for per in ("record", "attribute"))
        record, attribute = ([str(one.numerator), str(one.denominator)] for one in exact)
        yield {"name": name, "plan": plan.to_json(), "R": record, "A": attribute}


def loss_plans() -> dict[str, Plan]:
    """Every mechanism, fake, record mechanism and number of rounds that has a formula of its own."""
    found = one_of_each() | metric_of_each() | faked()
    found |= {name: plan for name, plan in nested().items() if len(plan.names) < 10}
    found |= {f"near, {name}": plan for name, plan in near.sizes().items()}
    found |= {
        f"{make.__name__} {k}, {rounds} rounds": of(make(k, 1.0, 2.0), rounds=rounds)
        for make, k, rounds in (
            *((dn.rounds.l_grr, k, rounds) for k in (2, 3, 5) for rounds in (1, 2, 4, 6)),
            *((dn.rounds.l_osue, k, rounds) for k in (2, 3, 5) for rounds in (1, 2, 4)),
            (dn.rounds.l_grr, 3, 13),
            (dn.rounds.l_osue, 2, 13),
        )
    }
    found |= {
        f"{make.__name__}, {rounds} rounds": of(make(50, 1.0, 2.0, g=3), rounds=rounds)
        for make in (dn.rounds.loloha, dn.rounds.l_plh)
        for rounds in (3, 20)
    }
    found |= {
        f"bit-flip {bits} of 4": of(dn.rounds.dbitflip(4, 2.0, bits=bits), rounds=9) for bits in (1, 3, 4)
    }
    found["bit-flip, one round"] = of(dn.rounds.dbitflip(4, 2.0, bits=3), rounds=1)
    uneven = tuple(dn.rounds.l_grr(k, first, 2 * first) for k, first in zip(KS, (0.2, 0.5, 1.0), strict=True))
    found["repeated, two of three"] = of(Sample(uneven, 2), rounds=5)
    return found | any_faked() | any_kept()


def caps() -> Iterator[Case]:
    """Whether a device with a cap, which answered other plans in so many rounds, answers a plan."""
    once = of(dn.grr(5, 1.0))
    again = of(dn.rounds.l_grr(5, 1.0, 2.0), rounds=5)
    flips = of(dn.rounds.dbitflip(20, 2.0, bits=4), rounds=2)
    single_flip = of(dn.rounds.dbitflip(20, 2.0, bits=4), rounds=1)
    large, four = of(dn.oue(5, 4.5)), of(dn.oue(5, 4.0))
    data = document(again)
    unbound = {**data["losses"], "repeated": {**data["losses"]["repeated"], "changing_values": None}}
    without = Plan.from_json(sealed({**data, "losses": unbound}))
    more = Plan.from_json(
        sealed({**document(once), "losses": {"record": 2 * 10**9, "attribute": 10**9, "repeated": None}})
    )

    def exactly(plan: Plan) -> float:
        losses = document(plan)["losses"]
        return float((losses["repeated"] or {"changing_values": losses["record"]})["changing_values"]) / 1e9

    def asked(name: str, plan: Plan, cap: float | None, accepted: bool, *answered: tuple[Plan, int]) -> Case:
        before = [{"plan": other.to_json(), "rounds": rounds} for other, rounds in answered]
        return {"name": name, "plan": plan.to_json(), "cap": cap, "answered": before, "accepted": accepted}

    yield asked("one report below its cap", once, 1.0, True)
    yield asked("one report at its cap", once, exactly(once), True)
    yield asked("one report above its cap", once, exactly(once) - 1e-9, False)
    yield asked("what is stated counts, not what is lost", more, 1.5, False)
    yield asked("rounds, a cap for one report", again, 1.0, False)
    yield asked("rounds, a cap for a value for ever", again, 2.0, False)
    yield asked("rounds, a cap for answers that change", again, exactly(again), True)
    yield asked("rounds, a billionth less", again, exactly(again) - 1e-9, False)
    yield asked("rounds without a bound", without, 1e9, False)
    yield asked("bit-flip, changes without a bound", flips, 1e9, False)
    yield asked("bit-flip, one round", single_flip, 2.0, True)
    yield asked("no cap, rounds with 4 nats at most", of(dn.rounds.l_grr(5, 1.0, 2.0), rounds=3), None, True)
    yield asked("no cap, rounds with more", again, None, False)
    yield asked("no cap, 4 nats", four, None, True)
    yield asked("no cap, more than 4 nats", large, None, False)
    yield asked("no cap, a plan without a bound", without, None, False)
    yield asked("no cap, 4 nats in all", of(dn.oue(5, 3.0)), None, True, (once, 1))
    yield asked("no cap, more than 4 nats in all", of(dn.oue(5, 3.01)), None, False, (once, 1))
    yield asked("no cap, a plan that was answered", four, None, True, (once, 1), (four, 1))
    yield asked("two plans below a cap", again, exactly(again) + 1.0, True, (once, 1))
    yield asked("two plans above a cap", again, exactly(again) + 0.99, False, (once, 1))
    yield asked("a plan that was answered", again, 0.5, True, (again, 1))
    yield asked("another plan with one round answered counts all rounds", once, 3.0, False, (again, 1))
    yield asked("a cap with room for all rounds", once, exactly(again) + 1.0, True, (again, 2))


def protections() -> Iterator[Case]:
    """What all reports to a plan, or to several, give away, and how well they protect."""

    def rated(name: str, plan: Plan, protection: Protection) -> Case:
        return {
            "name": name,
            "plan": plan.to_json(),
            "counted": plan.stated.counted,
            "unchanged": plan.stated.unchanged,
            "answer": protection.loss,
            "level": protection.level,
            "percent": protection.percent,
        }

    before, middle, after = chains.plan_chain(*((dn.rounds.l_grr(k, 0.5, 1.0), 1) for k in (2, 3, 4)))
    two = {"color": COLORS, "smokes": ["yes", "no"]}
    plans = {
        **{
            f"one answer, {epsilon:g}": of(dn.grr(5, epsilon)) for epsilon in (1.0, 1.09, 1.1, 2.19, 2.2, 4.6)
        },
        **{
            f"a mood, {number} rounds": of(dn.rounds.l_grr(5, 1.0, 2.0), rounds=number)
            for number in (1, 2, 4, 20)
        },
        **{
            f"bits, {number} rounds": of(dn.rounds.l_osue(5, 0.2, 0.4), rounds=number) for number in (1, 2, 3)
        },
        "two answers, split": of(dn.spl([5, 2], 2.0, "grr"), two),
        "two answers, sampled": of(dn.smp([5, 2], 2.0, "grr"), two),
        "two answers, with fakes": of(dn.rsfd([5, 2], 1.5, "grr"), two),
        "bit-flip, no bound": of(dn.rounds.dbitflip(20, 0.5, bits=4), rounds=2),
        "bit-flip, one round": of(dn.rounds.dbitflip(20, 0.5, bits=4), rounds=1),
        "a plan before": after,
    }
    for name, plan in plans.items():
        yield rated(name, plan, plan.protection)
    once = of(dn.grr(5, 0.5))
    for name, beside in {
        "a plan before, which counts once": [before],
        "all of a chain, and a plan beside it": [before, once, middle],
        "a plan that is named twice": [middle, after],
        "a plan without a bound": [before, of(dn.rounds.dbitflip(20, 0.5, bits=4), rounds=2)],
    }.items():
        together = Protection.together([plan.document for plan in (*beside, after)])
        yield rated(name, after, together) | {"beside": [plan.to_json() for plan in beside]}


def rounds() -> Iterator[Case]:
    """What a device with a secret sends, step by step: a round that was answered is sent again as it was."""
    once, again = of(dn.grr(5, 1.0)), of(dn.rounds.l_osue(5, 1.0, 2.0), rounds=3)
    first, second = ({"city": f"city {number}"} for number in (1, 3))

    def device(name: str, plan: Plan, secret: bytes, steps: list[tuple[int, dict[str, str]]]) -> Case:
        client = dn.Client(plan, secret=secret, plan_cap=math.inf)
        sent = [
            {"round": number, "answers": answers, "report": client.report(answers, number).to_bytes().hex()}
            for number, answers in steps
        ]
        return {"name": name, "plan": plan.to_json(), "secret": secret.hex(), "steps": sent}

    secret = bytes(range(32))
    changing = [(1, first), (1, second), (1, first)]
    yield device("another answer in the same round", once, secret, changing)
    yield device("two rounds", again, secret, [*changing, (2, second), (1, second), (2, first), (3, first)])
    for size in (16, 17, 64, 65, 200):
        yield device(f"a secret of {size} bytes", once, bytes(range(size)), [(1, first)])
    for size in (0, 15):
        yield {
            "name": f"a secret of {size} bytes",
            "plan": once.to_json(),
            "secret": bytes(range(size)).hex(),
            "refused_secret": True,
        }
    for number, plan in ((0, once), (2, once), (4, again)):
        yield {
            "name": f"round {number} of {plan.document.rounds or 1}",
            "plan": plan.to_json(),
            "secret": secret.hex(),
            "refused_round": number,
        }
    for number, rounds in ((1, 2), (2, 6), (4, 52), (999, 1000)):
        for plan in (
            drawn := of(dn.rounds.l_grr(5, 1.0, 2.0), rounds=rounds).with_turns(number),
            drawn.with_linked(),
        ):
            drawn_rounds = dn.Client(plan, secret=secret, plan_cap=math.inf).turns
            name = f"{number} turns of {rounds}{', linked' if plan.document.linked else ''}"
            yield device(name, plan, secret, [(turn, first) for turn in drawn_rounds[-6:]])
            others = [turn for turn in range(1, rounds + 1) if turn not in drawn_rounds]
            for other in others[:4]:
                yield {
                    "name": f"{name}, round {other}",
                    "plan": plan.to_json(),
                    "secret": secret.hex(),
                    "refused_round": other,
                }


def batches() -> Iterator[Case]:
    """Batches in both forms, with the reports that are in them or why each is refused.

    No two batches have a report in common, so that one store can take all of them.
    """
    plan = of(
        Sample((dn.grr(5, 1.0), dn.grr(300, 1.0))), {"color": COLORS, "town": [f"{v}" for v in range(300)]}
    )
    wire, other = Wire(plan.document), Wire(of(dn.grr(5, 1.0)).document)
    made = plan.privatize([{"color": "red", "town": f"{v}"} for v in range(6)], dn.seeded(5))
    bodies = wire.bodies(made)
    color = next(body for body in bodies if body[0] == 0)
    town = next(body for body in bodies if body[0] == 1)
    ids = (number.to_bytes(16) for number in count(1))

    def new(body: bytes = color) -> Report:
        return Report(wire.prefix, 1, next(ids), body)

    def text_of(*reports: Report) -> str:
        return ",".join(wire.to_json(report).decode() for report in reports)

    def case(what: str, refused: str | None, outcomes: list[str] | None = None, **form: Any) -> Case:
        return {"name": what, "plan": plan.to_json(), "batch_refused": refused, "outcomes": outcomes, **form}

    yield case("bytes", None, ["counted"] * 6, bytes=to_batch([new(body) for body in bodies]).hex())
    yield case("JSON", None, ["counted"] * 6, json=f"[{text_of(*[new(body) for body in bodies])}]")
    yield case("no bytes", None, [], bytes="")
    yield case("an empty array", None, [], json="[]")
    twice = ["counted", "counted before"]
    yield case("bytes, a report twice", None, twice, bytes=to_batch([new()] * 2).hex())
    yield case("JSON, a report twice", None, twice, json=f"[{text_of(*[new()] * 2)}]")
    raw = to_batch([new(), new()])
    yield case("bytes, cut off", "malformed", bytes=raw[:-1].hex())
    yield case("bytes, half a length", "malformed", bytes=(raw + b"\1\0").hex())
    one, two = text_of(new()), text_of(new())
    for what, text in {
        "cut off": f"[{one}",
        "with a space": f"[{one}, {two} ]",
        "not an array": one,
        "with a line feed": f"[{one}]\n",
    }.items():
        yield case(f"JSON, {what}", "malformed", json=text)
    # the same fault in both forms
    name = next(ids)
    said = {**json.loads(text_of(new(town))), "id": name.hex()}
    faults: dict[str, tuple[str, Report, dict[str, Any]]] = {
        "another plan": ("plan", Report(other.prefix, 1, name, b"\0"), {**said, "plan": other.prefix.hex()}),
        "round 0": ("round", Report(wire.prefix, 0, name, town), {**said, "round": 0}),
        "round 2": ("round", Report(wire.prefix, 2, name, town), {**said, "round": 2}),
        "nothing": ("size", Report(wire.prefix, 1, name, b""), {**said, "report": {}}),
        "too much": (
            "size",
            Report(wire.prefix, 1, name, b"\0\0\1\0\0"),
            {**said, "report": {"color": 0, "town": 0}},
        ),
        "a value beyond the last": (
            "form",
            Report(wire.prefix, 1, name, b"\1" + (300).to_bytes(2, "little")),
            {**said, "report": {"town": 300}},
        ),
        "an attribute beyond the last": (
            "form",
            Report(wire.prefix, 1, name, b"\2\0"),
            {**said, "report": {"shoe size": 0}},
        ),
    }
    for what, (reason, report, document) in faults.items():
        text = f"[{text_of(new())},{json_with(document)}]"
        yield case(f"bytes, {what}", None, ["counted", reason], bytes=to_batch([new(), report]).hex())
        yield case(f"JSON, {what}", None, ["counted", reason], json=text)
    short = Report(wire.prefix, 1, name, b"\1\0")
    yield case("bytes, shorter than what it names", None, ["form"], bytes=to_batch([short]).hex())
    # as a rule: this many of one report, each with its number as its id
    for size, first in ((10_000, 1 << 32), (10_001, 1 << 33)):
        refused = "large" if size > 10_000 else None
        for form, start in (("bytes", first), ("json", first + (1 << 20))):
            model = Report(wire.prefix, 1, bytes(16), color)
            unit = model.to_bytes().hex() if form == "bytes" else text_of(model)
            many = {"form": form, "report": unit, "first_id": start, "number": size}
            yield case(f"{form}, {size} reports", refused, None if refused else ["counted"], many=many)


FILES = {
    "refusals": refusals,
    "grids": cells,
    "losses": ratios,
    "caps": caps,
    "protections": protections,
    "rounds": rounds,
    "batches": batches,
}
