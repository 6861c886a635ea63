"""Reads plans by the text of spec/wire.md alone: a third reading, which imports nothing of the library.

It refuses with the reasons of sections 1 and 11, computes the losses of sections 2 to 5 in fractions, and
compares caps as section 8 says. The fields are those of spec/plan.schema.json.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, reduce
from itertools import pairwise, product
from typing import Any

F = 1 << 64
SAFE = (1 << 53) - 1
VIEWS = ("product", "coarse")
BLANK = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
FIGURES = ("one_report", "same_value", "one_value_forever", "changing_values", "changing_values_usual")
REPEATED = ("memoized", "hashed-memoized", "memoized-mean", "bit-flip")
METRIC = ("geometric", "planar-geometric")
UNLISTED = ("text", "code")
MEANS = ("duchi", "piecewise", "hybrid", "memoized-mean")
NEAR = {"near-sets": ("options", "chosen", "spare", "size", "least"), "near-bits": ("answers", "least")}
KINDS = ("single", "split", "sample", "faked", *NEAR)
NUMBERS = {
    "direct": ("k", "keep"),
    "unary": ("k", "one", "zero"),
    "subset": ("k", "size", "keep"),
    "packed-subset": ("k", "size", "keep"),
    "hashed": ("k", "g", "keep"),
    "pooled": ("k", "g", "keep"),
    "linear": ("bits", "rows", "keep"),
    "hadamard": ("k", "keep"),
    "bit-flip": ("k", "bits", "one", "zero"),
    "memoized": ("first", "second"),
    "hashed-memoized": ("k", "buckets"),
    "memoized-mean": ("bit",),
    "geometric": ("tails",),
    "planar-geometric": ("steps", "noise"),
    "duchi": ("keep",),
    "piecewise": ("k", "window", "keep"),
    "hybrid": ("piecewise", "duchi", "share"),
}
MOST_K = {
    "direct": 1 << 24,
    "unary": 1 << 20,
    "pooled": 1 << 20,
    "piecewise": 1 << 20,
    "subset": 1 << 16,
    "packed-subset": 1 << 16,
    "bit-flip": 1 << 16,
    "hadamard": (1 << 20) - 1,
    "hashed": (1 << 31) - 2,
    "hashed-memoized": (1 << 31) - 2,
}
INSIDE = {
    "first": ("direct", "unary"),
    "second": ("direct", "unary"),
    "buckets": ("memoized",),
    "bit": ("memoized",),
}
SETS = ("unary", "subset", "packed-subset", "hashed", "pooled", "hadamard")
FAKES = {
    "guessed": ("direct", "memoized"),
    "imitated": ("direct", *SETS, "memoized"),
    "blank": (*SETS, "memoized", "hashed-memoized", "bit-flip"),
}

Data = dict[str, Any]
Pair = tuple[Fraction, Fraction]


KEY = "f" * 512
"""A key that no rule refuses, for plans without one."""


class Refusal(Exception):
    """A plan that is refused, for this reason."""


def must(holds: object, reason: str) -> None:
    if not holds:
        raise Refusal(reason)


def fewest(m: int) -> int:
    return F // m


def most(m: int) -> int:
    return -(-F // m)


# section 1: the text


def read(text: str) -> Data:
    """A plan that keeps every rule, with its true losses under "truth"."""
    must(len(text.encode(errors="surrogatepass")) <= 1 << 22, "length")

    def number(digits: str) -> int:
        found = float(digits)
        must(found.is_integer() and abs(found) <= SAFE, "integer")
        return int(found)

    def constant(_: str) -> None:
        raise Refusal("json")

    try:
        plan: Data = json.loads(
            text,
            parse_int=number,
            parse_float=number,
            parse_constant=constant,
        )
    except (ValueError, RecursionError):
        raise Refusal("json") from None
    must(isinstance(plan, dict) and depth(plan) <= 16, "json")
    must(type(plan.get("version")) is int and plan["version"] == 2, "version")
    body = {name: value for name, value in plan.items() if name != "id"}
    must(plan.get("id") == hashlib.sha256(canonical(body).encode()).hexdigest(), "id")
    wanted = ("attributes", "losses", "mechanism", "missing", "people", "rounds", "title", "version")
    optional = ("ticket_key", "texts", "ask", "linked", "maps", "known")
    check_content(fields(body, *wanted, *(name for name in optional if name in body)))
    plan["truth"] = check_losses(plan)
    must(text.strip(" \t\r\n") == canonical(body | {"id": plan["id"]}), "canonical")
    return plan


def depth(data: object) -> int:
    if not isinstance(data, dict | list):
        return 0
    return 1 + max(map(depth, data.values() if isinstance(data, dict) else data), default=0)


def canonical(data: Data) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    must(not any(0xD800 <= ord(sign) < 0xE000 for sign in text), "json")
    return text


def fields(data: Any, *names: str) -> Data:
    must(isinstance(data, dict), "type")
    must(set(data) == set(names), "fields")
    return data  # type: ignore[no-any-return]


def typed(data: Any, kind: type) -> Any:
    must(type(data) is kind, "type")
    return data


def between(number: int, low: int, high: int, reason: str) -> int:
    must(low <= typed(number, int) <= high, reason)
    return number


# section 11: what is asked


def check_content(plan: Data) -> None:
    if typed(plan["title"], str):
        check_text(plan["title"])
    between(plan["people"], 1, SAFE, "people")
    must(plan["missing"] in ("refuse", "value", "random"), "missing")
    key = re.fullmatch("[89a-f]([0-9a-f]{2}){255,511}[13579bdf]", typed(plan.get("ticket_key", KEY), str))
    must(key, "ticket-key")
    asked = typed(plan["attributes"], list)
    must(len(asked) <= 4096, "attributes")
    sizes = []
    for one in asked:
        some = ("missing", "only_if", "several", "answers", "answered", "exactly", "at_most")
        optional = [name for name in some if name in typed(one, dict)]
        check_text(typed(fields(one, "name", "domain", *optional)["name"], str))
        check_optional(one, plan["missing"])
        sizes.append(check_domain(one["domain"]))
    must(len({one["name"] for one in asked}) == len(asked), "names")
    parts = [*check_record(plan["mechanism"], KINDS)]
    must(len(parts) == len(asked), "parts")
    for one, size, part in zip(asked, sizes, parts, strict=True):
        check_fit(plan, one, size, part)
    check_questions(asked)
    check_levels(asked, plan["missing"])
    check_combined(asked, plan["mechanism"])
    check_near_sets(asked, plan["missing"], plan["mechanism"])
    cells = [part["noise"] for part in parts if part["kind"] == "planar-geometric"]
    must(sum(len(noise) * len(noise[0]) for noise in cells) <= 1 << 14, "cells")
    repeated = [part["kind"] in REPEATED or "kept" in part for part in parts]
    must(all(repeated) or not any(repeated), "rounds")
    rounds = plan["rounds"]
    must(rounds is None or type(rounds) is int, "type")
    must(1 <= (rounds or 0) <= 1000 if all(repeated) else rounds is None, "rounds")
    must(type(plan.get("linked", True)) is bool, "linked")
    must(plan.get("linked", True), "canonical")
    must("linked" not in plan or rounds is not None, "linked")
    full = [part["kind"] in METRIC or part["kind"] in MEANS for part in parts]
    draws = [
        one.get("missing", plan["missing"]) == "random" or ("only_if" in one and filled)
        for one, filled in zip(asked, full, strict=True)
    ]
    must(count_words(plan["mechanism"]) + len(asked) * any(draws) <= 1 << 22, "words")
    if "ask" in plan:
        must(plan["ask"] in ("sampled", "all"), "ask")
        must(plan["ask"] != "all", "canonical")
        check_asking(plan["mechanism"])
        must(not any({"only_if", "several", "answers"} & set(one) for one in asked), "ask")
    if "maps" in plan:
        check_maps(plan["maps"], {one["name"]: one["domain"] for one in asked})
    known = check_factors(plan["known"]) if "known" in plan else {}
    if "known" in plan:
        names = [*known, " x ".join(known)]
        must(0 < len(known) == len(plan["known"]), "known")
        must(math.prod(known.values()) <= 256, "known")
        taken = {name for one in asked for name in (one["name"], one.get("several"))}
        taken |= {each["name"] for one in asked for each in factors_of(one)}
        must(not taken & set(names), "known")
    if "texts" in plan:
        questions: dict[str, Any] = {one["name"]: one["domain"] for one in plan.get("known", ())}
        for one in asked:
            if not {"several", "answers"} & set(one):
                questions |= {each["name"]: each["domain"] for each in factors_of(one)}
        for one in asked:
            if "several" in one:
                options = questions.setdefault(one["several"], {"kind": "several", "labels": []})
                options["labels"].append(one["name"])
        check_texts(plan["texts"], plan["title"], questions)


def check_optional(one: Data, usual: str) -> None:
    if "missing" in one:
        must(typed(one["missing"], str) in ("refuse", "value", "random"), "missing")
        must(one["missing"] != usual, "canonical")
    for name in ("several", "answers"):
        typed(one.get(name, ""), str)
    if "several" in one:
        check_text(one["several"])
    if "only_if" in one:
        condition = fields(one["only_if"], "name", "values")
        typed(condition["name"], str)
        for value in typed(condition["values"], list):
            typed(value, str)
    for name in ("exactly", "at_most"):
        typed(one.get(name, 1), int)
        must("several" in one or name not in one, "questions")
    must(not {"exactly", "at_most"} <= set(one), "questions")
    if "answered" in one:
        between(one["answered"], 1, 999, "answered")
        policy = one.get("missing", usual)
        must(policy == "value" or (policy == "refuse" and "only_if" in one), "answered")
        must("answers" not in one, "answered")


def factors_of(one: Data) -> list[Any]:
    """The questions of an attribute: itself, or those of a table or a level."""
    return list(one["domain"]["factors"]) if one["domain"]["kind"] in VIEWS else [one]


def check_factors(factors: Any, kinds: Sequence[str] = ("categories", "range")) -> dict[str, int]:
    """Questions, each with how many values it has."""
    found = {}
    for one in typed(factors, list):
        check_text(typed(fields(one, "name", "domain")["name"], str))
        must(typed(one["domain"], dict).get("kind") in kinds, "kind")
        found[one["name"]] = check_domain(one["domain"])
    return found


def check_tables(asked: Sequence[Data]) -> None:
    seen: dict[str, Any] = {}
    for one in asked:
        if one["domain"]["kind"] in VIEWS:
            must(one["name"] == name_view(one["domain"]), "tables")
            must(not {"only_if", "several", "answers"} & set(one), "tables")
        for each in factors_of(one):
            here = each["domain"], one.get("missing")
            must(seen.setdefault(each["name"], here) == here, "tables")
            must(all(each["name"] != other.get("several") for other in asked), "tables")


def check_levels(asked: Sequence[Data], usual: str) -> None:
    by_name = {one["name"]: one for one in asked}
    for one in asked:
        if one["domain"]["kind"] == "coarse":
            own = by_name.get(factors_of(one)[0]["name"])
            must(own and not {"only_if", "several", "answers"} & set(own), "tables")
            must(one.get("missing", usual) != "value", "tables")


def check_combined(asked: Sequence[Data], mechanism: Data) -> None:
    """A report has one level at most; levels of a range are a tree, and those of text leave no long gap."""
    at = 0
    for member in mechanism["parts"] if mechanism["kind"] == "split" else [mechanism]:
        size = member_size(member)
        is_leveled = any(one["domain"]["kind"] == "coarse" for one in asked[at : at + size])
        must(member.get("reported", 1) == 1 or not is_leveled, "tables")
        at += size
    divisors: dict[str, list[int]] = {}
    for one in asked:
        if one["domain"]["kind"] == "coarse":
            divisors.setdefault(factors_of(one)[0]["name"], []).append(one["domain"]["divisor"])
    for one in asked:
        if one["name"] in divisors:
            groups = [1, *sorted(divisors[one["name"]]), check_domain(one["domain"])]
            steps = [Fraction(larger, smaller) for smaller, larger in pairwise(groups)]
            if is_listed(one["domain"]):
                must(steps[0] <= 1 << 16 and set(steps[:-1]) == {steps[0]}, "tables")
                must(steps[-1] <= steps[0], "tables")
            else:
                must(max(steps) <= 1 << 30, "tables")


def name_view(domain: Data) -> str:
    names = [each["name"] for each in domain["factors"]]
    if domain["kind"] != "coarse":
        return " x ".join(names)
    if not is_listed(domain):
        return f"{names[0]} to {check_domain(domain).bit_length() - 1} bits"
    return f"{names[0]} by {domain['divisor']}"


def is_listed(domain: Data) -> bool:
    if domain["kind"] == "coarse":
        return is_listed(domain["factors"][0]["domain"])
    return domain["kind"] not in UNLISTED


def check_questions(asked: Sequence[Data]) -> None:
    by_name = {one["name"]: one for one in asked}
    if any(one["domain"]["kind"] in VIEWS for one in asked):
        check_tables(asked)
    for one in asked:
        yes_no = one["domain"].get("labels") == ["yes", "no"]
        if "several" in one:
            start = one["several"] + ": "
            must(yes_no and one["name"].startswith(start) and one["name"] != start, "questions")
            others = [each for each in asked if each.get("several") == one["several"]]
            must(len(others) > 1 and one["several"] not in by_name, "questions")
            for each in others:
                alike = ("missing", "only_if", "answered", "exactly", "at_most")
                must(all(each.get(name) == one.get(name) for name in alike), "questions")
            must(1 <= (limit_of(one) or (0, 1))[1] < len(others), "questions")
        if "answers" in one:
            about = by_name.get(one["answers"], {}).get("only_if")
            told = about == {"name": one["name"], "values": ["yes"]}
            must(yes_no and "several" not in one and told, "questions")
        seen, here = set[str](), one
        while "only_if" in here:
            must(here["name"] not in seen, "only-if")
            seen.add(here["name"])
            parent, values = by_name.get(here["only_if"]["name"]), here["only_if"]["values"]
            labels = (parent or {}).get("domain", {}).get("labels", [])
            must(parent and 0 < len(set(values)) == len(values) < len(labels), "only-if")
            must(set(values) <= set(labels), "only-if")
            here = parent or {}


def check_text(text: str) -> None:
    must(text and text == text.strip(BLANK), "text")
    for i, sign in enumerate(text):
        before = text[i - 1] if 0 < i < len(text) - 1 else "a"
        joins = unicodedata.category(before)[0] == "M" or unicodedata.category(before) in ("So", "Sk")
        if sign in "\u200c\u200d" and (joins or "\u0600" <= before <= "\u08ff"):
            continue
        must(unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), "text")


# section 10


LONGEST = {
    "title": 200,
    "introduction": 4000,
    "consent": 8000,
    "responsible": 500,
    "contact": 500,
    "privacy_notice": 500,
    "thanks": 2000,
}
LINES = ("title", "contact", "privacy_notice", "question", "label")


def check_texts(texts: Any, title: str, asked: Mapping[str, Data]) -> None:
    known = (*LONGEST, "attributes", "pages")
    fields(texts, "language", *(name for name in known if name in typed(texts, dict)))
    language = check_language(typed(texts["language"], str))
    languages = {language}
    for name in LONGEST:
        if name in texts:
            languages |= check_languages(texts[name], name, LONGEST[name], language)
    for name, one in typed(texts.get("attributes", {}), dict).items():
        kinds = ("question", "help", "labels", "ends", "other")
        fields(one, *(kind for kind in kinds if kind in typed(one, dict)))
        must(one, "canonical")
        must(name in asked, "texts")
        if "question" in one:
            languages |= check_languages(one["question"], "question", 500, language)
        if "help" in one:
            languages |= check_languages(one["help"], "help", 2000, language)
        if "labels" in one:
            languages |= check_translated(one["labels"], len(asked[name].get("labels", ())))
        if "ends" in one:
            must(asked[name].get("unit") == "whole", "texts")
            languages |= check_translated(one["ends"], 2)
            must(language in one["ends"], "language")
        if "other" in one:
            must(typed(one["other"], bool), "canonical")
            must("labels" in asked[name], "texts")
    if "pages" in texts:
        pages = [typed(page, list) for page in typed(texts["pages"], list)]
        must(pages, "canonical")
        must(all(pages), "type")
        names = [typed(name, str) for page in pages for name in page]
        must(sorted(names) == sorted(asked), "texts")
    must(len(languages) <= 20, "language")
    must(len(texts) > 1 and texts.get("attributes", texts), "canonical")
    must("title" not in texts or texts["title"][language] == title, "texts")


def check_languages(text: Any, name: str, longest: int, language: str) -> set[str]:
    for tag, one in typed(text, dict).items():
        check_language(tag)
        check_lines(typed(one, str), name, longest)
    must(language in text, "language")
    return set(text)


def check_translated(labels: Any, size: int) -> set[str]:
    must(typed(labels, dict), "type")
    for tag, each in labels.items():
        check_language(tag)
        for label in typed(each, list):
            check_lines(typed(label, str), "label", 200)
        must(len(set(each)) == len(each) == size, "texts")
    return set(labels)


def check_language(tag: str) -> str:
    must(re.fullmatch("[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?", tag), "language")
    return tag


def check_lines(text: str, name: str, longest: int) -> None:
    inner = text if name in LINES else text.strip("\n ")
    must(len(inner) <= longest, "texts")
    lines = [inner] if name in LINES else inner.split("\n")
    must(inner, "text")
    for line in filter(None, lines):
        check_text(line)
    is_link = name == "privacy_notice" or (
        name == "contact" and re.match(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]", text)
    )
    must(not is_link or re.fullmatch("(https://|mailto:)[!-~]+", text), "texts")
    must(inner == text, "canonical")


# sections 3 and 10


def check_asking(mechanism: Data) -> None:
    parts = mechanism["parts"] if mechanism["kind"] == "split" else [mechanism]
    must(all(one["kind"] != "faked" for one in parts), "ask")
    must(any(one["kind"] == "sample" and one["reported"] < len(one["parts"]) for one in parts), "ask")


def check_maps(maps: Any, asked: Mapping[str, Data]) -> None:
    must(typed(maps, dict), "canonical")
    for name, one in maps.items():
        must(asked.get(name, {}).get("kind") == "grid", "maps")
        must("image" not in typed(one, dict), "maps")
        fields(one, *(kind for kind in ("lines", "towns") if kind in one))
        must(one, "maps")
        points = 0
        for line in typed(one.get("lines", []), list):
            must(len(typed(line, list)) >= 4 and len(line) % 2 == 0, "maps")
            for number in line:
                between(number, 0, 4095, "maps")
            must(all(line[i : i + 2] != line[i + 2 : i + 4] for i in range(0, len(line) - 2, 2)), "maps")
            points += len(line) // 2
        must(points <= 4800, "maps")
        for town in typed(one.get("towns", []), list):
            check_text(typed(fields(town, "name", "x", "y")["name"], str))
            must(len(town["name"]) <= 60, "maps")
            between(town["x"], 0, 4095, "maps")
            between(town["y"], 0, 4095, "maps")
        must(len(one.get("towns", [])) <= 200, "maps")
        must(all(one.values()), "canonical" if any(one.values()) else "maps")


def check_domain(domain: Any) -> int:
    """How many values it has."""
    kind = domain.get("kind") if isinstance(domain, dict) else None
    if kind == "categories":
        labels = typed(fields(domain, "kind", "labels")["labels"], list)
        for label in labels:
            check_text(typed(label, str))
        must(len(labels) == len(set(labels)) > 1, "labels")
        must(all(unicodedata.is_normalized("NFC", label) for label in labels), "canonical")
        size = len(labels)
    elif kind == "range":
        unit = ["unit"] if "unit" in domain else []
        fields(domain, "kind", "low", "step", "bins", "digits", "open_low", "open_high", *unit)
        between(domain["bins"], 2, SAFE, "range")
        size = domain["bins"]
        low = between(domain["low"], -(10**15), 10**15, "range")
        step = between(domain["step"], 1, 10**15, "range")
        if size <= 1 << 20:
            between(low + size * step, -SAFE, 10**15, "range")
            check_digits(domain, (low, step, low + size * step), "range")
        if unit:
            check_unit(domain, typed(domain["unit"], str))
    elif kind == "number":
        fields(domain, "kind", "low", "high", "digits", "open_low", "open_high")
        low, high = (between(domain[end], -(10**15), 10**15, "number") for end in ("low", "high"))
        must(low < high, "number")
        check_digits(domain, (low, high), "number")
        return (1 << 32) + 1
    elif kind == "product":
        given = fields(domain, "kind", "factors")["factors"]
        factors = check_factors(given)
        size = math.prod(factors.values())
        must(2 <= len(factors) == len(given) <= 16, "product")
        must(size <= 1 << 16, "product")
    elif kind == "coarse":
        given = fields(domain, "kind", "divisor", "factors")["factors"]
        factors = check_factors(given, ("range", *UNLISTED))
        must(len(given) == 1, "coarse")
        [bins] = factors.values()
        if not is_listed(domain):
            divisor = between(domain["divisor"], 1, min(SAFE, bins // 2), "coarse")
            must(divisor.bit_count() == 1, "coarse")
            return bins // divisor
        size = -(-bins // between(domain["divisor"], 2, bins - 1, "coarse"))
    elif kind in UNLISTED:
        return 1 << check_unlisted(domain)
    else:
        must(kind == "grid", "kind")
        fields(domain, "kind", "south", "west", "north", "east", "rows", "columns")
        size = math.prod(between(domain[side], 2, 4096, "grid") for side in ("rows", "columns"))
        for edge, degrees in (("south", 899), ("north", 899), ("west", 1800), ("east", 1800)):
            between(domain[edge], -degrees * 10**8, degrees * 10**8, "grid")
        must(domain["south"] < domain["north"] and 0 < wide(domain) <= 180, "grid")
    must(size <= 1 << 20, "values")
    return size


def check_unlisted(domain: Data) -> int:
    """How many bits a value has."""
    if domain["kind"] == "code":
        return between(fields(domain, "kind", "bits")["bits"], 8, 62, "text")
    fields(domain, "kind", "alphabet", "longest", "cut")
    letters: str = typed(domain["alphabet"], str)
    typed(domain["cut"], bool)
    must(2 <= len(set(letters)) == len(letters) <= 4096, "alphabet")
    must(all(ord(one) < 0x10000 and unicodedata.is_normalized("NFC", one) for one in letters), "alphabet")
    bits = len(letters).bit_length() * between(domain["longest"], 1, 62, "text")
    return between(bits, 8, 62, "text")


def check_unit(domain: Data, unit: str) -> None:
    must(unit in ("whole", "month", "year"), "range")
    must(domain["step"] == 1 and not domain["digits"], "range")
    must(not (domain["open_low"] or domain["open_high"]), "range")
    year = {"whole": 0, "month": 12, "year": 1}[unit]
    must(not year or year <= domain["low"] <= domain["low"] + domain["bins"] <= 10_000 * year, "range")


def check_digits(domain: Data, numbers: Iterable[int], reason: str) -> None:
    digits = between(domain["digits"], 0, 15, reason)
    for end in ("open_low", "open_high"):
        typed(domain[end], bool)
    must(not digits or any(number % 10 for number in numbers), "canonical")


def wide(grid: Data) -> float:
    return float((grid["east"] / 1e9 - grid["west"] / 1e9) % 360)


# section 11: the mechanism


def kind_of(data: Any, allowed: Iterable[str]) -> str:
    kind = data.get("kind") if isinstance(data, dict) else None
    must(isinstance(kind, str) and kind in allowed, "kind")
    return str(kind)


def check_record(data: Any, allowed: Sequence[str]) -> Iterator[Data]:
    """The mechanisms of all attributes, in order."""
    kind = kind_of(data, allowed)
    if kind in NEAR:
        yield from check_near(data)
        return
    if kind == "faked":
        made = typed(fields(data, "kind", "fakes")["fakes"], list)
        must(len(made) > 1, "parts")
        parts = [check_fake(fake) for fake in made]
        must(len({part["kind"] == "bit-flip" for part in parts}) == 1, "rounds")
        yield from parts
        return
    more = ("reported", *(("weights",) if "weights" in data else ())) if kind == "sample" else ()
    parts = typed(fields(data, "kind", "parts", *more)["parts"], list)
    must(len(parts) == 1 if kind == "single" else len(parts) > 1, "parts")
    for part in parts:
        nested = isinstance(part, dict) and part.get("kind") in KINDS
        if kind == "split" and nested:
            yield from check_record(part, ("sample", "faked", *NEAR))
        else:
            yield check_mechanism(part, NUMBERS)
    if kind == "sample":
        between(data["reported"], 1, len(parts), "reported")
        check_weights(data)


def check_near(data: Data) -> list[Data]:
    """Near sets or near bits, and the attributes that one draw decides."""
    kind = data["kind"]
    fields(data, "kind", *NEAR[kind], "keep")
    for name in NEAR[kind]:
        typed(data[name], int)
    keep = threshold(data["keep"])
    if kind == "near-bits":
        between(data["answers"], 2, 31, "near")
        between(data["least"], 1, data["answers"], "near")
    else:
        between(data["options"], 2, 100, "near")
        between(data["chosen"], 1, data["options"] - (data["spare"] == 0), "near")
        between(data["spare"], 0, data["chosen"], "near")
        between(data["size"], 1, data["options"] + data["spare"] - 1, "near")
        between(data["least"], 1, min(data["chosen"], data["size"]), "near")
    near, far = near_and_far(data)
    must(near > 0 and far > 0 and near + far < 1 << 32, "near")
    must(keep * fewest(near) > (F - keep) * most(far), "likelier")
    return [{"kind": "tick", "k": 2}] * member_size(data)


def near_and_far(data: Data) -> tuple[int, int]:
    """How many reports are near, and how many are far."""
    if data["kind"] == "near-bits":
        counts = [math.comb(data["answers"], i) for i in range(data["answers"] + 1)]
    else:
        others = data["options"] + data["spare"] - data["chosen"]
        counts = [
            math.comb(data["chosen"], i) * math.comb(others, data["size"] - i)
            for i in range(data["size"] + 1)
        ]
    return sum(counts[data["least"] :]), sum(counts[: data["least"]])


def check_near_sets(asked: Sequence[Data], usual: str, mechanism: Data) -> None:
    """Near sets are of all options of one question, with its limit, none of them drawn at random."""
    at = 0
    for member in mechanism["parts"] if mechanism["kind"] == "split" else [mechanism]:
        size = member_size(member)
        if member["kind"] == "near-sets":
            options = asked[at : at + size]
            name, limit = options[0].get("several"), (member["chosen"] - member["spare"], member["chosen"])
            must(name is not None and all(one.get("several") == name for one in options), "near")
            must(sum(one.get("several") == name for one in asked) == size, "near")
            must(all(limit_of(one) == limit for one in options), "near")
            must(options[0].get("missing", usual) == "refuse", "near")
        at += size


def member_size(member: Data) -> int:
    """How many attributes a part of a report has."""
    if member["kind"] in NEAR:
        return int(member["options" if member["kind"] == "near-sets" else "answers"])
    return len(member["fakes"] if "fakes" in member else member.get("parts", [member]))


def limit_of(one: Data) -> tuple[int, int] | None:
    """How many options people choose, at least and at most."""
    most_of_all = one.get("exactly", one.get("at_most"))
    return None if most_of_all is None else (one.get("exactly", 0), most_of_all)


def check_weights(sample: Data) -> None:
    if "weights" not in sample:
        return
    weights = [typed(weight, int) for weight in typed(sample["weights"], list)]
    must(sample["reported"] == 1 and len(weights) == len(sample["parts"]), "weights")
    must(min(weights) > 0 and sum(weights) <= 1 << 16, "weights")
    must(math.gcd(*weights) == 1 and len(set(weights)) > 1, "canonical")


def check_fake(fake: Any) -> Data:
    kind = kind_of(fake, FAKES)
    fields(fake, "kind", "part", *(() if kind == "blank" else ("prior",)))
    part = check_mechanism(fake["part"], FAKES[kind])
    first = part.get("first", part)
    if kind != "blank" and fake["prior"] != "uniform":
        weights = [threshold(weight) for weight in typed(fake["prior"], list)]
        must(len(weights) == first["k"] and sum(weights) == F, "prior")
        ends = [most_of(v, first["k"]) for v in range(first["k"] + 1)]
        must(weights != [b - a for a, b in pairwise(ends)], "canonical")
    must(kind != "guessed" or first["kind"] == "direct", "shape")
    must(kind != "blank" or first["kind"] != "direct", "shape")
    return part


def most_of(v: int, k: int) -> int:
    """How many words `below` sends to the values before v."""
    return -(-F * v // k)


def threshold(data: Any) -> int:
    must(isinstance(data, str) and re.fullmatch("[1-9][0-9]{0,19}", data) and int(data) < F, "threshold")
    return int(data)


def check_mechanism(data: Any, allowed: Iterable[str]) -> Data:
    kind = kind_of(data, allowed)
    stays = kind in METRIC and isinstance(data, dict) and "kept" in data
    fields(data, "kind", *NUMBERS[kind], *(("kept",) if stays else ()))
    must(not stays or typed(data["kept"], bool), "canonical")
    if "k" in data:
        between(data["k"], 2, MOST_K[kind], "k")
    k = data.get("k", 0)
    for name in {"keep", "one", "zero", "share"} & set(data):
        threshold(data[name])
    for name, high in (("size", k - 1), ("bits", 62 if kind == "linear" else k)):
        if name in data:
            between(data[name], 1, high, name)
    if kind == "linear":
        between(data["rows"], 1, min(8, data["bits"]), "rows")
    if kind == "hashed":
        between(data["g"], 2, (1 << 31) - 2, "g")
    if kind == "pooled":
        g = between(data["g"], 2, 251, "g")
        must(g in (2, 3) or all(g % divisor for divisor in range(2, g)), "g")
        digits = next(m for m in range(2, 21) if g**m >= k)
        must(g * sum(g**m for m in range(digits)) <= 1 << 22, "g")
    if kind in ("direct", "hashed", "pooled", "hadamard", "linear"):
        sizes = {"direct": k, "hadamard": 2, "linear": 1 << data.get("rows", 0)}
        keep, m = int(data["keep"]), sizes.get(kind, data.get("g"))
        must(keep * F > (F - keep) * most(m - 1), "likelier")
    elif kind in ("unary", "bit-flip"):
        must(int(data["zero"]) < int(data["one"]), "likelier")
    elif kind in ("subset", "packed-subset"):
        must(int(data["keep"]) * k > F * data["size"], "likelier")
    elif kind == "duchi":
        must(int(data["keep"]) > F // 2, "likelier")
    elif kind == "piecewise":
        between(data["window"], 1, 1 << 20, "window")
        must(outputs(data) <= 4096, "outputs")
        must(ratio(data) > 1, "likelier")
    elif kind == "hybrid":
        for one in ("piecewise", "duchi"):
            check_mechanism(data[one], (one,))
        must(outputs(data) <= 4096, "outputs")
    elif kind == "memoized":
        first, second = (check_mechanism(data[one], INSIDE[one]) for one in ("first", "second"))
        must((first["kind"], first["k"]) == (second["kind"], second["k"]), "shape")
    elif kind == "hashed-memoized":
        buckets = check_mechanism(data["buckets"], INSIDE["buckets"])
        must(buckets["first"]["kind"] == "direct", "shape")
    elif kind == "memoized-mean":
        rounds = check_mechanism(data["bit"], INSIDE["bit"])
        must((rounds["first"]["kind"], rounds["first"]["k"]) == ("direct", 2), "shape")
    elif kind == "geometric":
        check_tails([threshold(tail) for tail in typed(data["tails"], list)])
    elif kind == "planar-geometric":
        check_noise(data)
    return data  # type: ignore[no-any-return]


def outputs(mean: Data) -> int:
    if mean["kind"] == "duchi":
        return 2
    return outputs(mean["piecewise"]) + 2 if mean["kind"] == "hybrid" else int(mean["k"] + mean["window"] - 1)


def check_tails(tails: list[int]) -> None:
    must(2 <= len(tails) <= 4096 and tails[0] + tails[1] == F, "tails")
    falls = [a - b for a, b in pairwise(tails)]
    must(min(falls) > 0 and falls == sorted(falls, reverse=True), "tails")


def check_noise(data: Data) -> None:
    noise = [[threshold(word) for word in typed(row, list)] for row in typed(data["noise"], list)]
    must(len(noise) > 1 and len({len(row) for row in noise}) == 1 and len(noise[0]) > 1, "noise")
    must(len(noise) * len(noise[0]) <= 2048, "noise")
    displacements = product(range(1 - len(noise), len(noise)), range(1 - len(noise[0]), len(noise[0])))
    must(sum(noise[abs(a)][abs(b)] for a, b in displacements) == F, "noise")
    must(len(typed(data["steps"], list)) == 2, "steps")
    for step in data["steps"]:
        between(step, 1, 1 << 40, "steps")


def check_fit(plan: Data, one: Data, size: int, part: Data) -> None:
    kind, valued = part["kind"], one.get("missing", plan["missing"]) == "value"
    domain, more = one["domain"], valued + ("only_if" in one)
    must((kind in MEANS) == (domain["kind"] == "number"), "fit")
    must((kind != "linear") == is_listed(domain), "fit")
    if kind in METRIC or kind in MEANS:
        must(not valued, "no-answer")
    elif kind == "linear":
        must(not more, "no-answer")
        must(1 << part["bits"] == size, "fit")
    elif kind == "memoized":
        must(part["first"]["k"] == size + more, "fit")
    else:
        must(part["k"] == size + more, "fit")
    if valued and domain["kind"] == "categories":
        must("no answer" not in domain["labels"], "no-answer")
    if "only_if" in one and domain["kind"] == "categories":
        must("not applicable" not in domain["labels"], "no-answer")
    if kind == "geometric":
        must(domain["kind"] == "range" and len(part["tails"]) == size, "fit")
    if kind == "planar-geometric":
        shape = len(part["noise"]), len(part["noise"][0])
        must(domain["kind"] == "grid" and (domain["rows"], domain["columns"]) == shape, "fit")
        for step, meters in zip(part["steps"], cell_meters(domain), strict=True):
            must(step <= 1000 * meters * (1 + 1e-9), "steps")


def cell_meters(grid: Data) -> tuple[float, float]:
    radius, edge = 6_371_008.8, math.radians(max(abs(grid["south"]), abs(grid["north"])) / 1e9)
    half = math.radians(wide(grid)) / 2
    across = 2 * math.asin(math.cos(edge) * math.sin(half))
    return (
        radius * math.radians((grid["north"] - grid["south"]) / 1e9) / grid["rows"],
        radius * across / grid["columns"],
    )


# sections 2 to 6: how many words a record takes


def count_words(data: Data) -> int:
    kind = data["kind"]
    if kind in NEAR:
        return 2
    if kind == "faked":
        return 1 + sum(max(fake_words(fake), count_words(fake["part"])) for fake in data["fakes"])
    if kind == "sample":
        return int(data["reported"]) * (1 + max(map(count_words, data["parts"])))
    if kind in ("single", "split"):
        return sum(map(count_words, data["parts"]))
    if kind == "memoized":
        return count_words(data["first"]) + count_words(data["second"])
    if kind == "hashed-memoized":
        return 1 + count_words(data["buckets"])
    if kind == "memoized-mean":
        return 1 + count_words(data["bit"])
    if kind == "bit-flip":
        bits: int = data["bits"]
        return bits + 64 * -(-bits // 64)
    fixed = {"direct": 2, "hashed": 3, "pooled": 3, "hadamard": 2, "geometric": 1, "planar-geometric": 1}
    fixed |= {"duchi": 1, "piecewise": 3, "hybrid": 5, "linear": 6}
    if kind in fixed:
        return fixed[kind]
    return 64 * -(-data["k"] // 64) if kind == "unary" else int(1 + data["size"])


def fake_words(fake: Data) -> int:
    part, kind = count_words(fake["part"]), fake["part"]["kind"]
    again = count_words(fake["part"]["second"]) if "second" in fake["part"] else 0
    nobody = {"hashed": 2, "pooled": 2, "hadamard": 1, "hashed-memoized": 4, "subset": part - 1}
    nobody["packed-subset"] = part - 1
    return {"guessed": 1 + again, "imitated": 1 + part, "blank": nobody.get(kind, part)}[fake["kind"]]


# sections 2 and 3: losses


def ratio(part: Data) -> Fraction:
    kind = part["kind"]
    keep, k = int(part.get("keep", 0)), part.get("k", 0)
    if kind in NEAR:
        near, far = near_and_far(part)
        return Fraction(keep * most(near), (F - keep) * fewest(far))
    if kind == "direct":
        return Fraction(keep * F, (F - keep) * fewest(k - 1))
    if kind in ("hashed", "pooled"):
        return ratio({"kind": "direct", "k": part["g"], "keep": part["keep"]})
    if kind == "linear":
        return ratio({"kind": "direct", "k": 1 << part["rows"], "keep": part["keep"]})
    if kind in ("hadamard", "duchi"):
        return Fraction(keep, F - keep)
    if kind in ("subset", "packed-subset"):
        size = part["size"]
        return Fraction(keep * (k - size) * F, (F - keep) * size * (F - 2 * size * (k - 1)))
    if kind in ("unary", "bit-flip"):
        up, down = coins(part)
        return max(up, down) if part.get("bits") == 1 else up * down
    if kind == "piecewise":
        return Fraction(keep * most(part["window"]), (F - keep) * fewest(k - 1))
    if kind == "hybrid":
        return max(ratio(part["piecewise"]), ratio(part["duchi"]))
    if kind == "memoized":
        return after(part, 1)
    if kind == "hashed-memoized":
        return ratio(part["buckets"])
    if kind == "memoized-mean":
        return ratio(part["bit"])
    if kind == "geometric":
        tails = [int(tail) for tail in part["tails"]]
        return max(Fraction(tails[0], tails[-1]), Fraction(tails[0] - tails[1], tails[-2] - tails[-1]))
    return max(Fraction(max(table.values()), min(table.values())) for table in tables(part))


def coins(part: Data) -> Pair:
    one, zero = int(part["one"]), int(part["zero"])
    return Fraction(one, zero), Fraction(F - zero, F - one)


def records(data: Data, ratio_of: Callable[[Data], Fraction]) -> Pair:
    """R and A of a record mechanism."""
    kind = data["kind"]
    if kind == "faked":
        return faked(data["fakes"])
    if kind == "sample":
        ratios = sorted(map(ratio_of, data["parts"]), reverse=True)
        return math.prod(ratios[: data["reported"]], start=Fraction(1)), ratios[0]
    if kind in ("single", "split"):
        each = [records(part, ratio_of) for part in data["parts"]]
        return math.prod((r for r, _ in each), start=Fraction(1)), max(a for _, a in each)
    return ratio_of(data), ratio_of(data)


def both(high: Fraction, low: Fraction) -> list[Pair]:
    return [(high, low), (low, high), (high, high), (low, low)]


def evidence(fake: Data, reports: int) -> tuple[list[Pair], Fraction]:
    """The pairs of a fake, and its slack; with a first round that is kept, after so many reports."""
    rounds = fake["part"].get("buckets", fake["part"])
    part, second, kind = rounds.get("first", rounds), rounds.get("second"), fake["kind"]
    k = part.get("g", part["k"])
    shares = [] if kind == "blank" else covered(fake)
    if part["kind"] in ("direct", "hashed", "pooled"):
        keep = int(part["keep"])
        p, q = Fraction(keep, F), Fraction(F - keep, F * (k - 1))
        low, high = (Fraction((F - keep) * words, F * F) for words in (fewest(k - 1), most(k - 1)))
        chances = [q + s * (p - q) for s in shares] if kind == "imitated" else shares
        chances = chances or [Fraction(fewest(k), F), Fraction(most(k), F)]
        if second is not None:
            keep = int(second["keep"])
            g = Fraction(keep * (k - 1), F - keep) ** reports - 1
            own, other = 1 + g * p, 1 + g * q
            pairs = [pair for f in chances for pair in both(own / (1 + g * f), other / (1 + g * f))]
            return pairs, Fraction(F, F - 4 * k * (reports + 1))
        pairs = [pair for f in chances for pair in [*both(p / f, low / f), (high / f, low / f)]]
        return pairs, Fraction(F, F - 4 * k) if kind == "imitated" else Fraction(1)
    m, less = speaking(part, second, reports)
    slack = Fraction(F, F - 4 * part.get("size", 0) * k)
    if part.get("bits") == 1:
        return [*both(m, Fraction(1)), *both(Fraction(1), less)], slack
    if kind == "blank":
        return both(m, less), slack
    averages = [less + (m - less) * c for c in shares]
    return [pair for v in averages for pair in both(m / v, less / v)], slack


def speaking(part: Data, second: Data | None, reports: int) -> Pair:
    """m and l: how much a report speaks for a value that it supports, and for one that it does not."""
    if part["kind"] == "hadamard":
        return Fraction(2 * int(part["keep"]), F), Fraction(2 * (F - int(part["keep"])), F)
    if "size" in part:
        keep, k, size = int(part["keep"]), part["k"], part["size"]
        return Fraction(keep * k, F * size), Fraction((F - keep) * k, F * (k - size))
    if second is None:
        up, down = coins(part)
        return up, 1 / down
    one, zero = int(part["one"]), int(part["zero"])
    u, v = (coin**reports for coin in coins(second))
    more = (one * u + F - one) / (zero * u + F - zero)
    return more, ((F - one) * v + one) / ((F - zero) * v + zero)


def covered(fake: Data) -> list[Fraction]:
    """The least and the largest share of a prior that a report supports, or bounds of both."""
    part = fake["part"].get("first", fake["part"])
    k, kind, prior = part["k"], part["kind"], fake["prior"]
    if prior == "uniform" and kind in ("direct", "unary", "hashed", "pooled"):
        weights = [fewest(k), most(k)]
    elif prior == "uniform":
        weights = [b - a for a, b in pairwise(most_of(v, k) for v in range(k + 1))]
    else:
        weights = list(map(int, prior))
    if kind == "hadamard":
        columns = (
            [v for v in range(k) if (y & v + 1).bit_count() % 2 == 0] for y in range(1 << k.bit_length())
        )
        sums = [sum(weights[v] for v in column) for column in columns if 0 < len(column) < k]
    elif "size" in part:
        ordered = sorted(weights)
        sums = [sum(ordered[: part["size"]]), sum(ordered[-part["size"] :])]
    elif kind == "direct":
        sums = weights
    else:
        sums = [min(weights), F - min(weights)]
    return [Fraction(min(sums), F), Fraction(max(sums), F)]


def faked(fakes: Sequence[Data], reports: int = 1) -> Pair:
    """R and A of records with fakes; where first rounds are kept, after so many reports."""
    known = [evidence(fake, reports) for fake in fakes]
    slack = max(one for _, one in known) * Fraction(most(len(fakes)), fewest(len(fakes)))
    best, found = Fraction(0), Fraction(1)
    while found > best:
        best = found
        chosen = [max(pairs, key=lambda pair: pair[0] - best * pair[1]) for pairs, _ in known]
        found = sum(x for x, _ in chosen) / sum((y for _, y in chosen), Fraction(0))
    parts = [fake["part"] for fake in fakes]
    parts = [part.get("buckets", part) for part in parts]
    record = min(
        slack * best, max(after(part, reports) if "second" in part else ratio(part) for part in parts)
    )
    least = [min(min(pair) for pair in pairs) for pairs, _ in known]
    single = Fraction(1)
    for (pairs, _), own in zip(known, least, strict=True):
        rest = sum(least, Fraction(0)) - own
        single = max(single, *((x + rest) / (y + rest) for x, y in pairs))
    return record, min(slack * single, record)


def tables(part: Data) -> Iterator[dict[tuple[int, int], int]]:
    """Words that send an output inside, in a row, in a column and in a corner, by the distance."""
    noise = [[int(word) for word in row] for row in part["noise"]]
    rows, columns = len(noise), len(noise[0])
    inner_rows, inner_columns = range(2 - rows, rows - 1), range(2 - columns, columns - 1)

    def from_row(a: int, b: int) -> int:
        return sum(noise[i][abs(b)] for i in range(a, rows))

    found = (
        {(a, b): noise[abs(a)][abs(b)] for a in inner_rows for b in inner_columns if min(rows, columns) > 2},
        {(a, b): from_row(a, b) for a in range(rows) for b in inner_columns if columns > 2},
        {(a, b): sum(noise[abs(a)][b:]) for a in inner_rows for b in range(columns) if rows > 2},
        {(a, b): sum(from_row(a, j) for j in range(b, columns)) for a in range(rows) for b in range(columns)},
    )
    return (table for table in found if table)


def unit_loss(part: Data) -> Decimal:
    if part["kind"] == "geometric":
        tails = [int(tail) for tail in part["tails"]]
        steps = [a - b for a, b in pairwise(tails)]
        pairs = [*pairwise(tails), *pairwise(steps)]
        return ln(max(Fraction(a, b) for a, b in pairs))
    return per_kilometer(json.dumps(part))


@cache
def per_kilometer(text: str) -> Decimal:
    part = json.loads(text)
    (high, across), rows, columns = part["steps"], len(part["noise"]), len(part["noise"][0])
    near: list[tuple[float, int, int, int]] = []
    for table in tables(part):
        logs = {where: math.log(words) for where, words in table.items()}
        for (a, b), (c, d) in product(table, table):
            down, right = c - a, d - b
            if (down, right) <= (0, 0) or down >= rows or abs(right) >= columns:
                continue
            rate = abs(logs[a, b] - logs[c, d]) / math.hypot(down * high, right * across)
            near.append(
                (rate, *sorted((table[a, b], table[c, d])), (down * high) ** 2 + (right * across) ** 2)
            )
    top = max(near)[0]
    few = {one[1:] for one in near if one[0] >= top * (1 - 1e-9)}
    return max(ln(Fraction(b, a)) / Decimal(square).sqrt() for a, b, square in few) * 10**6


# section 4


def after(part: Data, reports: int) -> Fraction:
    first, second = part["first"], part["second"]
    if first["kind"] == "direct":
        a, r, k = ratio(first), Fraction(ratio(second) ** reports), int(first["k"])
        return (a * r + k - 1) / (a + r + k - 2) * Fraction(F, F - 4 * k * (reports + 1))
    one, zero = int(first["one"]), int(first["zero"])
    u, v = (coin**reports for coin in coins(second))
    return (one * u + F - one) / (zero * u + F - zero) * ((F - zero) * v + zero) / ((F - one) * v + one)


@cache
def figures(text: str, rounds: int) -> tuple[Decimal | None, ...]:
    """The five figures of a repeated mechanism, or of records with fakes."""
    part = json.loads(text)
    if part["kind"] == "faked":
        return figures_of_fakes(part["fakes"], rounds)
    if part["kind"] == "hashed-memoized":
        return figures(json.dumps(part["buckets"]), rounds)
    if part["kind"] == "memoized-mean":
        return figures(json.dumps(part["bit"]), rounds)
    if part["kind"] == "bit-flip":
        loss, patterns = ln(ratio(part)), part["bits"] + (part["bits"] < part["k"])
        return loss, loss, loss, loss if rounds == 1 else None, min(rounds, patterns) * loss
    if part["kind"] in METRIC:
        loss = ln(ratio(part))
        values = len(part["tails"]) if "tails" in part else len(part["noise"]) * len(part["noise"][0])
        return loss, loss, loss, loss if rounds == 1 else None, min(rounds, values) * loss
    first = ratio(part["first"])
    same = min(after(part, rounds), first)
    forever = ln(first)
    usual = min(rounds, part["first"]["k"]) * forever
    return ln(after(part, 1)), ln(same), forever, changing(part, rounds), usual


def first_round(part: Data) -> Data:
    """What is kept of an answer, as a mechanism for one round."""
    if part["kind"] == "hashed-memoized":
        first = part["buckets"]["first"]
        return {"kind": "hashed", "k": part["k"], "g": first["k"], "keep": first["keep"]}
    return dict(part.get("first", part))


def figures_of_fakes(fakes: Sequence[Data], rounds: int) -> tuple[Decimal | None, ...]:
    each = [figures(json.dumps(fake["part"]), rounds) for fake in fakes]
    bounds = [figure for one in each if (figure := one[3]) is not None]
    changes = max(bounds) if len(bounds) == len(each) else None
    usual = max(figure for one in each if (figure := one[4]) is not None)
    one = ln(faked(fakes)[0])
    first = faked([{**fake, "part": first_round(fake["part"])} for fake in fakes])[0]
    same = min(faked(fakes, rounds)[0], first)
    return one, ln(same), ln(first), one if rounds == 1 else changes, usual


def changing(part: Data, rounds: int) -> Decimal:
    if rounds == 1:
        return ln(after(part, 1))
    few = min(rounds, 12)
    direct = part["first"]["kind"] == "direct"
    loss = changing_direct(part, few) if direct else changing_unary(part, few)
    fresh = ln(ratio(part["second"])) if direct else part["first"]["k"] * ln(max(coins(part["second"])))
    return loss + (rounds - few) * fresh


def partitions(total: int, most_parts: int, top: int) -> Iterator[tuple[int, ...]]:
    if not total:
        yield ()
    elif most_parts:
        for one in range(min(total, top), 0, -1):
            for rest in partitions(total - one, most_parts - 1, one):
                yield one, *rest


def changing_direct(part: Data, rounds: int) -> Decimal:
    k = part["first"]["k"]
    p1, p2 = (Fraction(int(part[one]["keep"]), F) for one in ("first", "second"))
    q1, q2 = (1 - p1) / (k - 1), (1 - p2) / (k - 1)
    g = [(p2 / q2) ** c - 1 for c in range(rounds + 1)]

    def likeliest(n: Sequence[int]) -> Fraction:
        return math.prod((1 + p1 * g[c] for c in n), start=Fraction(1))

    def even(m: Sequence[int], rows: int) -> Fraction:
        each = range(min(rows, max(m, default=0)))
        return math.prod(
            (1 + q1 * sum(g[-(-max(c - row, 0) // rows)] for c in m) for row in each), start=Fraction(1)
        )

    def factor(taken: Sequence[int], v: int) -> Fraction:
        others = sum((g[c] for s, c in enumerate(taken) if s != v), Fraction(0))
        return Fraction(1 + p1 * g[taken[v]] + q1 * others)

    def least(n: Sequence[int]) -> Fraction:
        j = len(n)
        free = j - (j == k)
        left = {tuple(n): Fraction(1)}
        for v in range(free):
            lower: dict[tuple[int, ...], Fraction] = {}
            for before, value in left.items():
                for taken in product(*(range(c + 1) for c in before)):
                    rest = tuple(a - b for a, b in zip(before, taken, strict=True))
                    made = value * factor(taken, v)
                    lower[rest] = min(lower.get(rest, made), made)
            left = lower
        return min(value * (even(m, k - j) if j < k else factor(m, free)) for m, value in left.items())

    best = Fraction(1)
    for n in partitions(rounds, k, rounds):
        bound = likeliest(n) / even(n, k)
        if bound <= best:
            continue  # the exact one is not above its bound
        j, free = len(n), len(n) - (len(n) == k)
        steps = math.prod(c + 1 for c in n) + (free - 1) * math.prod((c + 1) * (c + 2) // 2 for c in n)
        exact = j + n[0] <= k or steps > 8000
        best = max(best, bound if exact else likeliest(n) / least(n))
    return ln(best * Fraction(F, F - 4 * k * rounds))


def changing_unary(part: Data, rounds: int) -> Decimal:
    first, second, k = part["first"], part["second"], part["first"]["k"]
    a, b = (Fraction(int(second[name]), F) for name in ("one", "zero"))
    p1, q1 = (Fraction(int(first[name]), F) for name in ("one", "zero"))
    counts = [(i, z) for i in range(rounds + 1) for z in range(rounds + 1 - i)]

    def likelihoods(w: Fraction) -> dict[tuple[int, int], Fraction]:
        return {(i, z): w * a**i * (1 - a) ** z + (1 - w) * b**i * (1 - b) ** z for i, z in counts}

    out, own = likelihoods(q1), likelihoods(p1)

    def divided(pick: Callable[..., Fraction]) -> list[Pair]:
        def join(
            some: Mapping[Any, Fraction], rest: Mapping[Any, Fraction], i: int, z: int, least: int
        ) -> Fraction:
            return pick(
                some[x, y] * rest[i - x, z - y] for x in range(i + 1) for y in range(z + 1) if x + y >= least
            )

        def among(values: int) -> dict[tuple[int, int], Fraction]:
            if values == 1:
                return out
            half = among(values // 2)
            whole = {(i, z): join(half, half, i, z, 0) for i, z in counts}
            return {(i, z): join(out, whole, i, z, 0) for i, z in counts} if values % 2 else whole

        rest = among(min(k - 1, rounds))  # more values than reports divide nothing further
        return [(rest[i, rounds - i], join(own, rest, i, rounds - i, 1)) for i in range(rounds + 1)]

    largest, smallest = divided(max), divided(min)

    def loss(one: int, other: int) -> Decimal:
        return ln(max(up[one] / low[other] for up, low in zip(largest, smallest, strict=True)))

    n, one, other, two = loss(0, 0), loss(1, 0), loss(0, 1), loss(1, 1)
    top = min(k, rounds)
    losses: Iterator[Decimal] = (
        one * i + other * j + two * c + n * (k - i - j - c)
        for c in range(top + 1)
        for i in range(top + 1 - c)
        for j in range(top + 1 - c)
        if i + c >= 1 and j + c >= 1 and i + j + c <= k
    )
    return max(losses)


# what a plan states


def ln(number: Fraction) -> Decimal:
    with localcontext(Context(prec=50)):
        return (Decimal(number.numerator) / Decimal(number.denominator)).ln()


def nanos(loss: Decimal) -> int:
    with localcontext(Context(prec=50)):
        return math.ceil(loss * 10**9)


def largest_sum(data: Data, of: Callable[[Data], Decimal | None]) -> Decimal | None:
    """The figures of all attributes that one person reports, together."""
    if data["kind"] not in ("single", "split", "sample"):
        return of(data)
    each = [largest_sum(part, of) for part in data["parts"]]
    known = sorted((one for one in each if one is not None), reverse=True)
    if len(known) < len(each):
        return None
    return reduce(Decimal.__add__, known[: data.get("reported", len(known))])


def check_losses(plan: Data) -> Data:
    """The true figures; a plan that states less is refused."""
    stated, mechanism, rounds = typed(plan["losses"], dict), plan["mechanism"], plan["rounds"]
    parts = [*check_record(mechanism, KINDS)]
    named = zip(plan["attributes"], parts, strict=True)
    units = [(one["name"], part) for one, part in named if part["kind"] in METRIC]
    must(("metric" in stated) == bool(units), "losses")
    fields(stated, "record", "attribute", "repeated", *(("metric",) if units else ()))
    must((stated["repeated"] is None) == (rounds is None), "losses")
    record, attribute = records(mechanism, ratio)
    truth: Data = {
        "R": record,
        "A": attribute,
        "record": nanos(ln(record)),
        "attribute": nanos(ln(attribute)),
    }
    for name in ("record", "attribute"):
        must(typed(stated[name], int) >= truth[name], "leaks")
    if rounds is not None:
        truth["repeated"] = {}
        for i, name in enumerate(FIGURES):
            total = largest_sum(mechanism, lambda part, i=i: figures(json.dumps(part), rounds)[i])  # type: ignore[misc]
            true = None if total is None or nanos(total) > SAFE else nanos(total)
            claim = fields(stated["repeated"], *FIGURES)[name]
            must(claim is None or (true is not None and typed(claim, int) >= true), "leaks")
            truth["repeated"][name] = true
    if units:
        metric = fields(stated["metric"], "rest", "units")
        same = [(one["name"], one["unit"]) for one in metric["units"]]
        kinds = {"geometric": "step", "planar-geometric": "kilometer"}
        must(same == [(name, kinds[part["kind"]]) for name, part in units], "losses")
        rest, _ = records(mechanism, lambda part: Fraction(1) if part["kind"] in METRIC else ratio(part))
        truth["metric"] = {"rest": nanos(ln(rest)), "units": [nanos(unit_loss(part)) for _, part in units]}
        must(metric["rest"] >= truth["metric"]["rest"], "leaks")
        for one, true in zip(metric["units"], truth["metric"]["units"], strict=True):
            must(typed(one["loss"], int) >= true, "leaks")
    return truth


# section 8


def counted(plan: Data) -> int | None:
    """What a plan counts, from its first report on."""
    repeated = plan["losses"]["repeated"]
    if repeated is None:
        return int(plan["losses"]["record"])
    figure: int | None = repeated["changing_values"]
    return figure


def is_allowed(plan: Data, cap: float | None, answered: Sequence[Data] = ()) -> bool:
    """Whether a device with this cap, which answered other plans, answers this one."""
    if any(other["id"] == plan["id"] for other in answered):
        return True
    return is_within(cap, [counted(plan), *map(counted, answered)])


def is_within(cap: float | None, figures: Sequence[int | None]) -> bool:
    """Whether these add up to a cap at most; None is without a bound."""
    if cap == math.inf:
        return True
    known = [one for one in figures if one is not None]
    return len(known) == len(figures) and sum(known) <= (4 if cap is None else cap) * 10**9


def linked_loss(plan: Data) -> int:
    """What each of several reports of one person counts, of a plan without rounds."""
    return max(int(plan["losses"]["record"]), nanos(ln(linked(plan["mechanism"]))))


def linked(data: Data) -> Fraction:
    """R, but a real attribute among fakes is known."""
    if data["kind"] == "faked":
        return max(ratio(fake["part"]) for fake in data["fakes"])
    if data["kind"] == "split":
        return math.prod(map(linked, data["parts"]), start=Fraction(1))
    return records(data, ratio)[0]
