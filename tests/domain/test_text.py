"""Text and codes that nobody listed: their codes, their names, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import deniable as dn
from deniable.domain.parsed import as_domain
from deniable.domain.text import Unlisted, expand_alphabet, name_letters
from deniable.plan.domain_json import domain_from_dict, domain_to_dict
from deniable.plan.strict_json import InvalidPlan

SITE = dn.Text(alphabet="a-z0-9.-", longest=10)


def test_the_code_of_a_word_is_that_of_the_specification() -> None:
    word = dn.Text("a-z", longest=10)
    assert word.bits == 50
    assert word.encode(["cat"]).tolist() == [0x61A000000000]


def test_letters_are_numbered_from_one_in_the_order_of_the_alphabet() -> None:
    letters = dn.Text("zyx", longest=5)
    assert letters.letter_bits == 2
    assert letters.encode(["z", "yx"]).tolist() == [0b01_00_00_00_00, 0b10_11_00_00_00]


@pytest.mark.parametrize(
    ("alphabet", "letters"),
    [
        ("a-e", "abcde"),
        ("-a-c", "-abc"),
        ("a-c-", "abc-"),
        ("+--a", "+,-a"),
        ("a-cx-", "abcx-"),
        ("äö", "äö"),
    ],
)
def test_an_alphabet_may_have_ranges(alphabet: str, letters: str) -> None:
    assert expand_alphabet(alphabet) == letters


@pytest.mark.parametrize(
    ("alphabet", "said"),
    [
        ("z-a", "write a-z"),
        ("aba", "'a' twice"),
        ("a", "2 to 4,096 letters, got 1"),
        ("", "such as 'a-z0-9.-'"),
        ("ab\U0001f600", "one character below"),
        ("ab\ud800", "one character below"),
        ("ab\u212b", "composed"),
        (7, "got 7"),
    ],
)
def test_wrong_alphabets_are_refused(alphabet: str, said: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=said) as problem:
        dn.Text(alphabet, longest=8)
    assert problem.value.reason == "alphabet"


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (SITE, ["a", "example.or", "x-9", "zzzzzzzzzz"]),
        (dn.Text("01", longest=31), ["0", "1", "01" * 15 + "0"]),
        (dn.Code(62), ["0x0", "0x7ce", hex(2**62 - 1)]),
        (dn.Code(8), ["0x0", "0xff"]),
    ],
)
def test_values_come_back_from_their_codes(domain: Unlisted, values: list[str]) -> None:
    codes = domain.encode(values)
    assert codes.dtype == np.int64
    assert domain.decode(codes) == values
    assert codes.max() < domain.k


def test_longer_text_is_cut_or_refused() -> None:
    assert SITE.decode(SITE.encode(["example.org/"[:11], "subdomain.example"])) == [
        "example.or",
        "subdomain.",
    ]
    with pytest.raises(dn.InvalidValue, match="longer than 'site' may be: 10 letters; shorten it, or cut"):
        dn.Text("a-z0-9.-", longest=10, cut=False).encode(["subdomain.example"], "site")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("Cat", "'C', which is not .* 'site' .*; did you mean 'cat'"),
        ("a b", "' '.*; did you mean 'ab'"),
        ("a_b", "'_'.*; remove the letter that is outside the alphabet, or add it"),
    ],
)
def test_other_letters_are_refused_by_name(value: str, said: str) -> None:
    with pytest.raises(dn.InvalidValue, match=said):
        SITE.encode([value], "site")


@pytest.mark.parametrize(
    ("alphabet", "text", "folded"),
    [
        ("a-z", "Whats App", "whatsapp"),
        ("A-Z", "whatsapp", "WHATSAPP"),
        ("a-z ", "My  Word", "my word"),
        ("A-Za-z", "WhatsApp", "WhatsApp"),  # the case of a letter says something here
        ("a-z", "Ünal", "Ünal"),
        ("0-9", "12 34", "1234"),
        ("a-z", "WhatsAppWeb!", "whatsappweb!"),  # the end is cut off
    ],
)
def test_text_is_folded_where_the_alphabet_says_so(alphabet: str, text: str, folded: str) -> None:
    """js/tests/text.test.ts has the same rows."""
    assert dn.Text(alphabet, longest=10).fold(text) == folded


def test_a_letter_and_its_accent_are_one_letter() -> None:
    word = dn.Text("a-zé", longest=8)
    assert word.encode(["cafe\u0301"]).tolist() == word.encode(["café"]).tolist()


def test_numbers_are_read_as_their_text() -> None:
    error = dn.Text("0-9", longest=8)
    assert error.encode([404, "404", np.int64(404), 404.0]).tolist() == error.encode(["404"] * 4).tolist()


def test_an_empty_text_is_a_missing_answer() -> None:
    assert SITE.codes(["", None, "a", float("nan")]).tolist()[:2] == [-1, -1]
    with pytest.raises(dn.InvalidValue, match=r"1 of 2 answers to 'site' are missing.*missing='random'"):
        SITE.encode(["a", ""], "site")


@pytest.mark.parametrize("value", [-1, 256, "0x100", "0x", "seven", 1.5, True, "-1", 2**70])
def test_what_is_no_code_is_refused(value: object) -> None:
    with pytest.raises(dn.InvalidValue, match="is not a code of 'id': whole numbers from 0 to 255"):
        dn.Code(8).encode([value], "id")


def test_codes_are_given_as_integers_or_digits() -> None:
    assert dn.Code(16).encode([10, "0xA", "0X0a", "10", 10.0, np.uint8(10)]).tolist() == [10] * 6


@pytest.mark.parametrize("bits", [7, 48.5, "48"])
def test_codes_have_8_to_62_bits(bits: int) -> None:
    with pytest.raises(dn.InvalidParameter, match="bits, of a code"):
        dn.Code(bits)


def test_of_longer_codes_the_first_bits_are_asked_for() -> None:
    with pytest.raises(dn.InvalidParameter, match="got 64; ask for the first 62 bits") as refused:
        dn.Code(64)
    assert "code >> 2" in str(refused.value)
    assert dn.Code(62).encode([(2**64 - 1) >> 2]).tolist() == [2**62 - 1]


def test_text_has_8_to_62_bits() -> None:
    with pytest.raises(dn.InvalidParameter, match="13 letters of 26 take 13 x 5 = 65; shorten"):
        dn.Text("a-z", longest=13)
    with pytest.raises(dn.InvalidParameter, match="1 letter of 26 take 1 x 5 = 5; give a list"):
        dn.Text("a-z", longest=1)


def test_values_are_not_listed() -> None:
    assert not SITE.listed
    assert dn.Categories(["a", "b"]).listed
    with pytest.raises(dn.InvalidParameter, match=r"plan\.discover"):
        _ = SITE.labels


@pytest.mark.parametrize(
    ("prefix", "bits", "name"),
    [
        (0b00011_00001_10100, 15, "cat…"),
        (0b00011_00001_101, 13, "ca…"),
        (0b00011_00001_00000, 15, "ca"),
        (0b00011_00000_00001, 15, "0xc01"),
        (0b00011_11111_00001, 15, "0xfe1"),
    ],
)
def test_a_prefix_is_named_by_its_whole_letters(prefix: int, bits: int, name: str) -> None:
    assert dn.Text("a-z", longest=10).name_code(prefix, bits) == name


def test_a_prefix_of_a_code_is_named_by_its_whole_digits() -> None:
    assert dn.Code(16).name_code(0b0000_1010_11, 10) == "0x0a…"


@pytest.mark.parametrize("domain", [SITE, dn.Text("+--a", 20, cut=False), dn.Code(48)])
def test_a_plan_holds_them_and_gives_them_back(domain: Unlisted) -> None:
    assert domain_from_dict(domain_to_dict(domain)) == domain
    assert pickle.loads(pickle.dumps(domain)) == domain


def test_a_plan_does_not_say_who_reports_all_bits() -> None:
    assert dn.Text(levels=[]) == dn.Text(levels=False)
    assert dn.Code(levels=[]) == dn.Code(levels=False)  # type: ignore[arg-type]
    for domain in (dn.Text(levels=False), dn.Code(levels=False)):
        assert domain_from_dict(domain_to_dict(domain)) == domain.plain != domain


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"kind": "text", "alphabet": "ab", "longest": 40, "cut": True}, "text"),
        ({"kind": "text", "alphabet": "aa", "longest": 10, "cut": True}, "alphabet"),
        ({"kind": "text", "alphabet": "ab", "longest": 10}, "fields"),
        ({"kind": "text", "alphabet": "ab", "longest": "10", "cut": True}, "type"),
        ({"kind": "code", "bits": 63}, "text"),
    ],
)
def test_a_plan_with_a_wrong_text_is_refused(data: dict[str, object], reason: str) -> None:
    with pytest.raises((dn.InvalidParameter, InvalidPlan)) as problem:
        domain_from_dict(data)
    assert getattr(problem.value, "reason", None) == reason


def test_a_file_describes_them() -> None:
    assert as_domain({"alphabet": "a-z0-9.-", "longest": 10}) == SITE
    assert as_domain({"bits": 48, "levels": False}) == dn.Code(48, levels=False)
    with pytest.raises(dn.InvalidParameter, match="has no 'alphabet'"):
        as_domain({"longest": 10}, "site")
    with pytest.raises(dn.InvalidParameter, match="'step' is for a range, and this is text"):
        as_domain({"alphabet": "a-z", "step": 10}, "site")


def test_an_alphabet_is_named_in_short() -> None:
    assert str(SITE) == "text of 38 letters (a to z, 0 to 9, ., -), cut to 10: 60 bits"
    assert len(name_letters("".join(chr(1000 + 2 * i) for i in range(100)))) < 50


def test_possible_codes_are_those_that_some_text_begins_with() -> None:
    small = dn.Text("a-e", longest=3)  # three bits a letter
    texts = [a + b + c for a in "abcde" for b in ["", *"abcde"] for c in (["", *"abcde"] if b else [""])]
    codes = small.encode(texts)
    for bits in range(1, small.bits + 1):
        every = np.arange(1 << bits)
        known = set((codes >> (small.bits - bits)).tolist())
        assert set(every[small.are_possible(every, bits)].tolist()) == known
        for start in range(bits + 1):
            most = int(np.bincount(np.array(sorted(known)) >> (bits - start)).max())
            assert most <= small.count_possible(start, bits) <= 1 << (bits - start)
            if start and start % small.letter_bits == 0:
                assert most == small.count_possible(start, bits)


def test_all_codes_of_numbers_are_possible() -> None:
    assert dn.Code(20).are_possible(np.array([0, 1, (1 << 20) - 1]), 20).all()
    assert dn.Code(20).count_possible(5, 20) == 1 << 15
