"""Draws words for simulation, tests and vectors: reproducible, not secret, and out of reach of clients.

`seeded` is fast and the same in every run. `remembering` is a population whose permanent answers are kept.
`fixed` replays a list. `numbers_from` gives generators of numpy, for what is drawn beside reports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.errors import InvalidParameter, WordsExhausted
from deniable.exact import whole_number
from deniable.randomness.draws import FULL, WordArray
from deniable.randomness.words import (
    First,
    FreshRows,
    Indices,
    KeepingWords,
    Rows,
    Strand,
    Words,
    encode_label,
    system,
)

if TYPE_CHECKING:
    from deniable.randomness.kernels import Address

_COMPILED_FILL = 1 << 20  # below this many seeded words numpy is done before a compiler has started
_BLOCK = 1 << 14  # words whose five steps stay in the nearest cache
_PLAN = 1 << 26  # more values than a kept answer has, so that no two plans share a kept word
_VALUES_KEPT = 1 << 32  # more than any mechanism has values, so that no two people share a kept word


def _finalize(words: WordArray) -> None:
    """SplitMix64's finalizer, in place and block by block."""
    scratch = np.empty(min(words.size, _BLOCK), dtype=np.uint64)
    for start in range(0, words.size, _BLOCK):
        block = words[start : start + _BLOCK]
        shifted = scratch[: block.size]
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, None)):
            np.right_shift(block, np.uint64(shift), out=shifted)
            block ^= shifted
            if factor is not None:
                block *= np.uint64(factor)


@final
@dataclass(frozen=True)
class SeededRows(Rows):
    """Words that are computed from their position: number position + stride * row + column."""

    key: int
    gamma: int
    position: int
    stride: int
    n: int
    width: int
    index: Indices | None = None
    """The rows' numbers, where they are not 0 to n - 1."""

    def array(self) -> WordArray:
        first = np.uint64((self.key + self.gamma * (self.position + 1)) % FULL)
        gamma = np.uint64(self.gamma)
        if self.index is None and self.stride == self.width:  # one word after the other
            words = np.arange(self.n * self.width, dtype=np.uint64) * gamma + first
            words = words.reshape(self.n, self.width)
        else:
            rows = np.arange(self.n, dtype=np.uint64) if self.index is None else self.index.astype(np.uint64)
            step = np.uint64(self.gamma * self.stride % FULL)
            words = (rows * step + first)[:, None] + np.arange(self.width, dtype=np.uint64) * gamma
        _finalize(words.reshape(-1))
        return words

    def address(self) -> Address:
        from deniable.randomness.kernels import Address

        key, gamma, position, stride = (
            np.uint64(number) for number in (self.key, self.gamma, self.position, self.stride)
        )
        index = np.zeros(0, dtype=np.int64) if self.index is None else self.index
        return Address(key, gamma, position, stride, index, np.zeros(0, dtype=np.uint64))

    def columns(self, start: int, stop: int) -> SeededRows:
        return replace(self, position=self.position + start, width=stop - start)

    def pick(self, rows: slice | Indices) -> SeededRows:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.n)
            if self.index is None and step == 1:
                return replace(self, position=self.position + start * self.stride, n=max(0, stop - start))
            rows = np.arange(start, stop, step)
        if self.index is not None:
            index = self.index[rows]
        else:
            index = np.where(rows < 0, rows + self.n, rows) if rows.size and rows.min() < 0 else rows
        return replace(self, n=len(index), index=index)


@final
@dataclass(frozen=True)
class RememberingRows(FreshRows):
    """Fresh words, and words that stay the same for the same person, column and value."""

    kept: SeededRows
    """A row for every person and value, person after person."""
    starts: Indices
    """Where each row's person begins there."""
    seed: int
    attribute: int = 0
    """The number of the first attribute."""
    strands: tuple[Strand, ...] = ()
    strand: int = 0
    """The number of the strand of these columns: 0 is the record's, 1 that of the first attribute."""

    def carry(self, strands: Sequence[Strand]) -> RememberingRows:
        return replace(self, strands=tuple(strands))

    @property
    def firsts(self) -> tuple[First, ...]:
        return self.strands[self.strand].firsts if self.strands else ()

    def shift_attributes(self, first: int) -> RememberingRows:
        return replace(self, attribute=self.attribute + first)

    def key_noise(self, attribute: int, values: Indices | None = None) -> RememberingRows:
        return replace(self, strand=1 + self.attribute + attribute)

    def columns(self, start: int, stop: int) -> RememberingRows:
        return replace(self, fresh=self.fresh.columns(start, stop), kept=self.kept.columns(start, stop))

    def pick(self, rows: slice | Indices) -> RememberingRows:
        return replace(self, fresh=self.fresh.pick(rows), starts=self.starts[rows])

    def recall(self, values: Indices | None = None, plan: int = 0) -> SeededRows:
        place = self.strands[self.strand].plans[plan][0] if self.strands else 0
        starts = self.starts + place * _PLAN + (0 if values is None else values + 1)
        return replace(self.kept, n=len(starts), index=starts)

    def of(self, people: Sequence[str]) -> RememberingRows:
        digests = (hashlib.sha256(encode_label(person)).digest() for person in people)
        starts = (int.from_bytes(digest[:8], "little") >> 1 for digest in digests)
        return replace(self, starts=np.fromiter(starts, np.int64, len(people)))

    def recall_label(self, plan: str, label: str, width: int) -> SeededRows:
        words = _seeded(b"deniable labeled words", self.seed, plan, label).rows(len(self.starts), width)
        return replace(words, stride=width | 1, index=self.starts)  # odd, as that of kept words


@final
class Seeded(Words):
    """Word number i is SplitMix64's finalizer of key + gamma * (i + 1): no word needs those before it."""

    def __init__(self, key: int, gamma: int) -> None:
        self._key = key
        self._gamma = gamma
        self._position = 0

    def take(self, count: int) -> WordArray:
        if count < _COMPILED_FILL:
            return self.rows(1, count).array().reshape(-1)
        from deniable.randomness import kernels

        words = np.empty(count, dtype=np.uint64)
        kernels.fill_seeded(np.uint64(self._key), np.uint64(self._gamma), np.uint64(self._position), words)
        self._position += count
        return words

    def rows(self, n: int, width: int) -> SeededRows:
        rows = SeededRows(self._key, self._gamma, self._position, width, n, width)
        self._position += n * width
        return rows


@final
class _Remembering(KeepingWords):
    def __init__(self, seed: int, fresh: Words, number: int | None = None) -> None:
        super().__init__(fresh, number)
        self._seed = seed

    def rows(self, n: int, width: int) -> RememberingRows:
        # an odd stride, since people are 2^32 rows apart: an even one would bring them back to the same words
        kept = replace(_seeded(b"deniable kept words", self._seed).rows(n, width), stride=width | 1)
        starts = np.arange(n) * _VALUES_KEPT
        return RememberingRows(self._fresh.rows(n, width), kept, starts, self._seed)


@final
class _Fixed(Words):
    def __init__(self, words: WordArray) -> None:
        self._words = words
        self._used = 0

    def take(self, count: int) -> WordArray:
        left = self._words.size - self._used
        if count > left:
            raise WordsExhausted(
                f"{count} words were asked for, but only {left} of {self._words.size} are left"
            )
        self._used += count
        return self._words[self._used - count : self._used]


def seeded(seed: int) -> Words:
    """Reproducible words for simulation and tests; they protect nobody, since the seed reveals the answer.

    >>> [hex(word) for word in seeded(7).take(2)]
    ['0xbb99ae56dd41d789', '0x79787b4a484bbb19']
    """
    return _seeded(b"deniable seeded words", whole_number("seed", seed, 0))


def _seeded(purpose: bytes, *labels: int | str) -> Seeded:
    digest = hashlib.sha256(purpose + b"".join(map(encode_label, labels))).digest()
    return Seeded(int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little") | 1)


def remembering(seed: int, fresh: Words | None = None, round: int | None = None) -> Words:  # noqa: A002 - the word for it
    """Words for a simulated population whose permanent answers are kept: row i is always the same person's.

    What a person keeps (a permanent answer, the sampled attribute, a hash function) comes from the seed, the
    person and the value; everything else is fresh, from the operating system unless given. Nothing is stored.
    With a round, what is fresh comes from the seed and the round, so that all of it can be had again, and
    reports know their round: files of them can be written.

    >>> remembering(7, seeded(1)).rows(3, 2).n
    3
    >>> bool((remembering(7, round=2).take(5) == remembering(7, round=2).take(5)).all())
    True
    """
    known = whole_number("seed", seed, 0)
    if round is None:
        return _Remembering(known, system() if fresh is None else fresh)
    if fresh is not None:
        raise InvalidParameter("give fresh words, or a round whose words come from the seed, not both")
    number = whole_number("round", round, 1)
    return _Remembering(known, _seeded(b"deniable fresh words", known, number), number)


def fixed(words: Iterable[int] | WordArray) -> Words:
    """Replay a list of words, then refuse to give more: for test vectors.

    >>> fixed([1, 2, 3]).take(2).tolist()
    [1, 2]
    """
    if isinstance(words, np.ndarray) and words.dtype == np.uint64 and words.ndim == 1:
        return _Fixed(words)
    return _Fixed(np.array([whole_number("a word", word, 0, FULL - 1) for word in words], dtype=np.uint64))


def numbers_from(seed: int, *labels: object) -> np.random.Generator:
    """Numbers of their own for every list of labels, all from one seed."""
    digest = hashlib.sha256(repr((seed, *labels)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
