"""Attacks on discovery: liars who choose their hash, to have texts shown that nobody has."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.discovery import decide_listed
from deniable.randomness import toeplitz
from tests import statistics

TEXT = dn.Text("a-z", longest=10)
M = dn.mechanisms.linear(TEXT.bits, 2.0)


def list_words() -> list[int]:
    """Codes of texts of 3 to 9 letters that nobody has."""
    rng = np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = ["".join(rng.choice(letters, rng.integers(3, 10))) for _ in range(statistics.FORGED_WORDS)]
    return sorted(set(TEXT.encode(words).tolist()))


def fake(t: int, bucket: int = 0) -> Array:
    """Reports of liars who agree on a hash and a bucket."""
    one = M.blank(1)
    one["bits"] = list(t.to_bytes(M.hash_bytes, "little"))
    one["bucket"] = bucket
    return np.repeat(one, statistics.FORGED)


def count_shown(fakes: Array) -> float:
    """The share of texts that are shown although nobody has them."""
    people = np.random.default_rng(1).integers(0, M.k, statistics.FORGED_AMONG)
    honest = M.privatize(people, dn.seeded(1))
    words = list_words()
    return float(decide_listed((M, np.concatenate([honest, fakes])), words).shown.sum()) / len(words)


def check_sparsest() -> None:
    """The sparsest hashes that are accepted: each row is one bit, as low as possible."""
    accepted = [1 << at for at in range(M.rows - 1, M.bits) if M.canonical(fake(1 << at)).all()]
    shown = max(count_shown(fake(t)) for t in accepted[:6])
    assert shown <= statistics.FORGED_SHOWN, f"liars have {shown:.0%} of all texts shown"


def test_no_hash_has_every_text_in_one_bucket() -> None:
    check_sparsest()


def test_any_hash_of_full_rank_would_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: rows are independent somewhere, as in the zeros at the end of a text."""
    monkeypatch.setattr(toeplitz, "SPARE", TEXT.bits)
    with pytest.raises(AssertionError, match="liars have 100% of all texts shown"):
        check_sparsest()


def test_liars_who_draw_their_hashes_have_hardly_anything_shown() -> None:
    fakes = M.privatize(np.zeros(statistics.FORGED, dtype=np.int64), dn.seeded(2))
    fakes["bucket"] = 0
    assert count_shown(fakes) <= 2 / statistics.FORGED_WORDS, "one in 20 studies shows any"


def test_liars_who_agree_on_a_hash_have_one_text_in_g_shown() -> None:
    """What remains, whatever the rule: a bucket of a hash that is chosen, or drawn once, holds that many."""
    one = M.privatize([0], dn.seeded(3))
    one["bucket"] = 0
    shown = count_shown(np.repeat(one, statistics.FORGED))
    assert 0.5 / M.g < shown < statistics.FORGED_SHOWN


def test_short_texts_can_still_share_a_bucket() -> None:
    """What remains, and is documented: all texts of one or two letters."""
    short = TEXT.encode(["a", "z", "of", "in", "zz", "at"])
    lowest = 1 << (M.bits - toeplitz.SPARE - 1)
    assert M.canonical(fake(lowest)).all()
    assert not M.canonical(fake(lowest >> 1)).any()
    assert M.supports_each(fake(lowest)[:1], short).all()
