"""Words: their sources, and the two ways they are turned into choices."""

from __future__ import annotations

import hashlib
import hmac
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.errors import WordsExhausted
from deniable.randomness import FULL, cell
from deniable.randomness.simulated import Seeded, fixed
from tests import statistics

MANY = settings(max_examples=60)
WORD = st.integers(0, FULL - 1)
LABELS = st.lists(st.one_of(st.text(max_size=5), st.integers(), st.binary(max_size=5)), max_size=4)
SECRET = bytes(range(32))


def check_uniform(words: dn.randomness.Words, alpha: float) -> None:
    """Every byte of every word, and every bit with its neighbor, is as likely as any other."""
    drawn = words.take(statistics.WORDS)
    as_bytes = drawn.view(np.uint8).reshape(-1, 8)
    for position in range(8):
        counts = np.bincount(as_bytes[:, position], minlength=256)
        statistics.goodness_of_fit(
            counts, np.full(256, drawn.size / 256), f"byte {position} of words", alpha=alpha
        )
    ones = int(np.bitwise_count(drawn).sum())
    statistics.deviation(ones, 32 * drawn.size, math.sqrt(16 * drawn.size), "ones in words", alpha)
    same = int(np.bitwise_count(drawn[1:] ^ drawn[:-1]).sum())
    statistics.deviation(
        same, 32 * (drawn.size - 1), math.sqrt(16 * (drawn.size - 1)), "changes between words", alpha
    )


def test_system_words_are_uniform() -> None:
    check_uniform(dn.randomness.system(), statistics.SYSTEM_ALPHA)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_seeded_words_are_uniform(seed: int) -> None:
    check_uniform(dn.seeded(seed), statistics.ALPHA)


def test_keyed_words_are_uniform() -> None:
    check_uniform(dn.randomness.keyed(SECRET, "a label"), statistics.ALPHA)


@pytest.mark.parametrize("count", [1, 5, 4096, 4097, 50_000])
def test_system_words_never_repeat(count: int) -> None:
    """Neither from one call to the next, nor from one source to another, nor between the parts of a table."""
    source = dn.randomness.system()
    drawn = [source.take(count), source.take(count), dn.randomness.system().take(count)]
    table = source.rows(2, count)
    drawn += [table.pick(slice(row, row + 1)).array().reshape(-1) for row in (0, 1)]
    assert all(words.dtype == np.uint64 for words in drawn)
    assert len(set(np.concatenate(drawn).tolist())) == 5 * count


FORK = """
import os, sys
import deniable as dn
source = dn.randomness.system()
source.take({count})
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.write(writing, source.take({count})[:512].tobytes())
    os._exit(0)
os.close(writing)
theirs = b""
while part := os.read(reading, 65536):
    theirs += part
os.waitpid(child, 0)
mine = source.take({count})[:512].tobytes()
assert len(theirs) == len(mine) > 0
words = lambda text: {{text[i:i + 8] for i in range(0, len(text), 8)}}
sys.exit(3 if words(mine) & words(theirs) else 0)
"""


@pytest.mark.parametrize("count", [8, 5000])
def test_a_forked_child_does_not_repeat_its_parent(count: int) -> None:
    """In a process of its own, since this one has threads; with few words and with a stream that was begun
    before.
    """
    done = subprocess.run(
        [sys.executable, "-c", FORK.format(count=count)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def splitmix(state: int) -> int:
    """SplitMix64's finalizer, in Python's integers."""
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % FULL
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % FULL
    return state ^ (state >> 31)


def test_seeded_words_are_those_of_splitmix64() -> None:
    """The first outputs of the reference generator from the state 0, as its authors' code prints them."""
    reference = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert Seeded(0, 0x9E3779B97F4A7C15).take(3).tolist() == reference


@pytest.mark.parametrize("seed", [0, 7, 10**30])
def test_seeded_words_by_hand(seed: int) -> None:
    text = str(seed).encode()
    digest = hashlib.sha256(b"deniable seeded words" + b"i" + len(text).to_bytes(8, "little") + text).digest()
    key, gamma = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little") | 1
    assert dn.seeded(seed).take(5).tolist() == [splitmix((key + gamma * (i + 1)) % FULL) for i in range(5)]


def test_seeded_words_do_not_depend_on_how_they_are_taken() -> None:
    whole = dn.seeded(3).take(1000).tolist()
    source = dn.seeded(3)
    assert [word for count in (1, 0, 7, 992) for word in source.take(count).tolist()] == whole


def test_seeded_tables_can_be_read_in_any_order() -> None:
    """Rows and columns are picked before any word is drawn, and the source goes on after the whole table."""
    source = dn.seeded(3)
    source.take(5)
    table = source.rows(20, 7)
    after = source.take(3).tolist()
    words = np.array(dn.seeded(3).take(5 + 20 * 7 + 3)[5:]).tolist()
    assert after == words[140:]
    expected = np.array(words[:140], dtype=np.uint64).reshape(20, 7)
    some = np.array([19, 3, 3, 0])
    assert np.array_equal(table.array(), expected)
    assert np.array_equal(table.pick(slice(4, 9)).array(), expected[4:9])
    assert np.array_equal(table.pick(some).array(), expected[some])
    assert np.array_equal(table.columns(2, 5).pick(some).array(), expected[some, 2:5])
    assert np.array_equal(
        table.pick(slice(4, 9)).columns(2, 5).pick(np.array([4, 0])).array(), expected[[8, 4], 2:5]
    )
    assert np.array_equal(table.pick(some).pick(slice(1, 3)).columns(6, 7).array(), expected[[3, 3], 6:7])


def test_many_seeded_words_are_the_same_as_few() -> None:
    """A large fill is compiled; the words are those that small fills give, wherever they begin."""
    source = dn.seeded(4)
    source.take(12_345)
    large = source.take(1 << 21)
    again = dn.seeded(4)
    again.take(12_345)
    small = np.concatenate([again.take(1 << 16) for _ in range(1 << 5)])
    assert np.array_equal(large, small)


def test_seeds_give_different_words() -> None:
    assert len({dn.seeded(seed).take(1).tolist()[0] for seed in range(1000)}) == 1000


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, None])
def test_seeds_are_integers(seed: int) -> None:
    with pytest.raises(dn.InvalidParameter, match="seed must be an integer of at least 0, got"):
        dn.seeded(seed)


def encoded(label: str | int | bytes) -> bytes:
    """Kind, length in eight bytes, content."""
    content = label if isinstance(label, bytes) else str(label).encode()
    kind = {str: b"s", int: b"i", bytes: b"b"}[type(label)]
    return kind + len(content).to_bytes(8, "little") + content


@pytest.mark.parametrize("labels", [(), ("color",), ("color", 1), (-5, b"\x00\xff", "é"), (10**30,)])
@pytest.mark.parametrize("size", [16, 63, 64, 65, 200])
def test_keyed_words_by_hand(labels: tuple[str | int | bytes, ...], size: int) -> None:
    """Four words a block, little-endian: HMAC-SHA256 of all labels and the block's number."""
    secret = bytes(range(size))
    message = b"".join(map(encoded, labels))
    blocks = [hmac.digest(secret, message + block.to_bytes(8, "little"), "sha256") for block in range(3)]
    stream = b"".join(blocks)
    expected = [int.from_bytes(stream[i : i + 8], "little") for i in range(0, len(stream), 8)]
    assert dn.randomness.keyed(secret, *labels).take(12).tolist() == expected
    source = dn.randomness.keyed(secret, *labels)
    assert [word for count in (1, 2, 0, 6, 3) for word in source.take(count).tolist()] == expected
    table = dn.randomness.keyed(secret, *labels).rows(2, 6)
    assert [table.pick(slice(row, row + 1)).array().tolist() for row in (1, 0)] == [
        [expected[6:]],
        [expected[:6]],
    ]


@MANY
@given(LABELS, LABELS)
@example(["a", "bc"], ["ab", "c"])
@example([1], ["1"])
@example(["1"], [b"1"])
@example([], [""])
@example(["a", ""], ["a"])
@example([12], [1, 2])
def test_different_labels_give_different_words(
    one: list[str | int | bytes], other: list[str | int | bytes]
) -> None:
    same = [(type(label), label) for label in one] == [(type(label), label) for label in other]
    words, others = dn.randomness.keyed(SECRET, *one).take(4), dn.randomness.keyed(SECRET, *other).take(4)
    assert (words.tolist() == others.tolist()) is same


def test_different_secrets_give_different_words() -> None:
    assert (
        dn.randomness.keyed(SECRET, "a").take(4).tolist()
        != dn.randomness.keyed(SECRET[::-1], "a").take(4).tolist()
    )
    assert (
        dn.randomness.keyed(SECRET, "a").take(4).tolist()
        == dn.randomness.keyed(bytearray(SECRET), "a").take(4).tolist()  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("secret", [b"", b"short", bytes(15), "x" * 32, None])
def test_secrets_are_long_enough(secret: bytes) -> None:
    with pytest.raises(dn.InvalidParameter, match="at least 16 bytes"):
        dn.randomness.keyed(secret, "a")


@pytest.mark.parametrize("label", [True, 1.0, None, ("a",)])
def test_labels_are_text_integers_or_bytes(label: str) -> None:
    with pytest.raises(dn.InvalidParameter, match="a label is a string, an integer or bytes, got"):
        dn.randomness.keyed(SECRET, label)


def test_fixed_words_end() -> None:
    source = fixed([1, 2, FULL - 1])
    assert source.take(1).tolist() == [1]
    with pytest.raises(WordsExhausted, match="3 words were asked for, but only 2 of 3 are left"):
        source.take(3)
    assert source.take(2).tolist() == [2, FULL - 1]
    with pytest.raises(WordsExhausted):
        source.take(1)
    with pytest.raises(WordsExhausted):
        dn.grr(4, 1.0).privatize([1, 2], fixed([1, 2, 3]))


@pytest.mark.parametrize("word", [-1, FULL, 1.5, "1"])
def test_fixed_words_are_64_bits(word: int) -> None:
    with pytest.raises(
        dn.InvalidParameter, match="a word must be an integer from 0 to 18446744073709551615, got"
    ):
        fixed([1, word])


@MANY
@given(WORD, st.integers(0, FULL - 1))
@example(0, 0)
@example(FULL - 1, FULL - 1)
@example(5, 6)
@example(6, 6)
def test_chance_is_less_than(word: int, threshold: int) -> None:
    assert dn.randomness.chance(np.array([word], dtype=np.uint64), threshold).tolist() == [word < threshold]


@MANY
@given(WORD, st.integers(1, 2**32))
@example(FULL - 1, 2**32)
@example(FULL - 1, 2**32 - 1)
@example(FULL - 1, 1)
def test_below_is_the_high_half_of_the_product(word: int, bound: int) -> None:
    words = np.array([word, word], dtype=np.uint64)
    assert dn.randomness.below(words, bound).tolist() == [word * bound >> 64] * 2
    bounds = np.array([bound, 1], dtype=np.uint64)
    assert dn.randomness.below(words, bounds).tolist() == [word * bound >> 64, 0]


@MANY
@given(st.integers(1, 2**31), st.data())
def test_cell_counts_the_words_that_below_sends_to_one_integer(bound: int, data: st.DataObject) -> None:
    """The fewest and the most over all integers; each one's words lie between two quotients, rounded up."""
    fewest, most = cell(bound)
    j = data.draw(st.integers(0, bound - 1))
    first, stop = -(-j * FULL // bound), -(-(j + 1) * FULL // bound)
    assert fewest <= stop - first <= most <= fewest + 1
    edges = np.array([first, stop - 1], dtype=np.uint64)
    assert dn.randomness.below(edges, bound).tolist() == [j, j]
    if bound < 1000:
        counts = {-(-(i + 1) * FULL // bound) - -(-i * FULL // bound) for i in range(bound)}
        assert (min(counts), max(counts)) == (fewest, most)


@pytest.mark.parametrize("bound", [0, -1, 2**32 + 1, 2**64])
def test_below_refuses_bounds_it_cannot_hold(bound: int) -> None:
    with pytest.raises(dn.InvalidParameter, match=r"a bound is an integer from 1 to 2\^32, got"):
        dn.randomness.below(np.zeros(1, dtype=np.uint64), bound)


@pytest.mark.parametrize("threshold", [-1, FULL])
def test_chance_refuses_thresholds_that_are_no_words(threshold: int) -> None:
    with pytest.raises(dn.InvalidParameter, match=r"a threshold is an integer from 0 to 2\^64 - 1, got"):
        dn.randomness.chance(np.zeros(1, dtype=np.uint64), threshold)
