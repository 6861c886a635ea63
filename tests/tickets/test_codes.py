"""Codes to type: what a person may write, what is a slip, and the invitations that come of one."""

from __future__ import annotations

import itertools
import re

import pytest

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.tickets import derive_invitation, draw_code, read_code, tag_plans
from deniable.tickets.codes import LENGTH, MODULUS, SYMBOLS
from tests.collector import small_plan

ONE, OTHER = "3f" * 32, "c7" * 32
CODE = "YJZZ-ZZZZ-ZZZZ-ZZZZ-ZZF2"


def test_a_code_is_read_as_people_write_it() -> None:
    code = draw_code([ONE, OTHER])
    assert re.fullmatch(r"(?:[0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}", code)
    symbols = code.replace("-", "")
    for written in (
        code.lower(),
        f" {symbols} ",
        " ".join(symbols),
        symbols.replace("1", "l").replace("0", "o"),
    ):
        assert read_code(written) == symbols
    assert 32 * SYMBOLS.index(symbols[0]) + SYMBOLS.index(symbols[1]) == tag_plans([OTHER, ONE])
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
        (CODE[:-1], "a code has 20 letters and digits, got 19"),
        (CODE[:-1] + "U", "no code has the letter 'U'"),
        (CODE[:-1] + "3", "there is a slip"),
    ],
)
def test_codes_that_are_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        read_code(text)


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
    client.send("http://localhost", report, code.lower())
    assert given == [f"Invitation {derive_invitation(code, plan.id)}"]
    with pytest.raises(InvalidParameter, match="there is a slip"):
        client.send("http://localhost", report, code[:-1] + ("1" if code[-1] != "1" else "2"))
