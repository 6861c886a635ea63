"""Codes to type: what a person may write, what is a slip, and the invitations that come of one."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.tickets import derive_invitation, draw_code, is_code, read_code, tag_plans
from deniable.tickets.codes import LENGTH, MODULUS, SYMBOLS, write_code
from spec.make.vectors import read_file
from tests.collector import small_plan

ONE, OTHER = "3f" * 32, "c7" * 32
CODE = write_code([ONE], 2**80 - 1)


def test_a_code_is_read_as_people_write_it() -> None:
    code = draw_code([ONE, OTHER])
    assert re.fullmatch(r"(?:[0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{2}", code)
    symbols = code.replace("-", "")
    for written in (
        code.lower(),
        f" {symbols} ",
        " ".join(symbols),
        symbols.replace("1", "l").replace("0", "o"),
    ):
        assert read_code(written) == symbols
    first = [SYMBOLS.index(one) << (15 - 5 * place) for place, one in enumerate(symbols[:4])]
    assert sum(first) == tag_plans([OTHER, ONE])
    assert draw_code([ONE]) != draw_code([ONE])


def test_no_slip_of_one_symbol_and_no_swap_of_two_is_a_code() -> None:
    """All of them, for codes at random; those with a slip are refused for certain, not with some chance."""
    for _ in range(3):
        right = draw_code([ONE]).replace("-", "")
        values = [SYMBOLS.index(one) for one in right]
        slips = [
            [*values[:place], other, *values[place + 1 :]]
            for place in range(LENGTH)
            for other in range(32)
            if other != values[place]
        ]
        for one, two in itertools.combinations(range(LENGTH), 2):
            if values[one] != values[two]:
                swapped = list(values)
                swapped[one], swapped[two] = values[two], values[one]
                slips.append(swapped)
        for slip in slips:
            with pytest.raises(InvalidParameter, match="there is a slip"):
                read_code("".join(SYMBOLS[value] for value in slip))
    assert all(pow(32, distance, MODULUS) != 1 for distance in range(1, LENGTH)), "so swaps are found"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CODE[:-1], "a code has 22 letters and digits, got 21"),
        (CODE[:-1] + "U", "no code has the letter 'U'"),
        (CODE[:-1] + ("3" if CODE[-1] != "3" else "4"), "there is a slip"),
    ],
)
def test_codes_that_are_refused(text: str, said: str) -> None:
    assert is_code(CODE)
    assert read_code(CODE)
    with pytest.raises(InvalidParameter, match=said):
        read_code(text)


SAID = {"length": "22 letters and digits", "symbol": "no code has the letter", "slip": "there is a slip"}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in read_file("codes")])
def test_codes_are_read_and_refused_as_in_the_other_language(case: dict[str, Any]) -> None:
    if "refused" in case:
        with pytest.raises(InvalidParameter, match=SAID[case["refused"]]):
            read_code(case["typed"])
    else:
        assert is_code(case["typed"])
        made = [derive_invitation(case["typed"], plan) for plan in case["plans"]]
        assert made == case["invitations"]


def test_a_code_opens_three_plans_at_most() -> None:
    assert draw_code([f"{number:064x}" for number in range(3)])
    with pytest.raises(InvalidParameter, match="opens 1 to 3 plans, got 4; make letters for fewer"):
        draw_code([f"{number:064x}" for number in range(4)])


@pytest.mark.parametrize(
    "text", ["a" * 32, "-" * 10 + "a" * 22, f"http://a.b/#plan={ONE}&invitation={'a' * 32}"]
)
def test_invitations_and_links_are_no_codes(text: str) -> None:
    assert not is_code(text)


def test_each_plan_has_an_invitation_of_its_own() -> None:
    """The same bytes as in the other language, and in the form that every invitation had before."""
    code = draw_code([ONE, OTHER])
    both = [derive_invitation(code, plan) for plan in (ONE, OTHER)]
    assert len(set(both)) == 2
    assert all(re.fullmatch(r"[\w-]{32}", one) for one in both)
    assert derive_invitation(code.lower(), ONE) == both[0]


def test_a_client_takes_the_code_of_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    from deniable.client import client as module

    plan = small_plan("Colors")
    code, given = draw_code([plan.id]), list[str]()
    monkeypatch.setattr(
        module, "deliver", lambda _, message, *__: given.append(message.headers["Authorization"])
    )
    client = dn.Client(plan, secret=bytes(32))
    report = client.report({"color": "red", "smokes": "no"})
    plain, dashed = code.replace("-", ""), code.replace("-", " \N{EN DASH} ")
    for typed in (code.lower(), plain, " ".join(plain), f"{code}.", dashed, f"{code}\n"):
        client.send("http://localhost", report, typed)
    assert given == [f"Invitation {derive_invitation(code, plan.id)}"] * 6
    with pytest.raises(InvalidParameter, match="there is a slip"):
        client.send("http://localhost", report, code[:-1] + ("1" if code[-1] != "1" else "2"))
