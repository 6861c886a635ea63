"""Heavy hitters by pure-ldp, in the peers' environment: reads people from a file, prints what it found.

Used by discovery.py. The methods that find most are here: the prefix extending method over Apple's count mean
sketch, plain and by Hadamard's matrix.
"""

from __future__ import annotations

import json
import random
import string
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pure_ldp.core import _freq_oracle_server
from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

LETTERS = 6
TOP = 20
SKETCH = (64, 1024)
STEP = 2
"""Letters that a group adds: with 1 as many strings are found, and with 3 it takes many minutes."""


class PatchedNumpy:
    """Numpy as pure-ldp knows it: a table of no shape was a single zero."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def zeros(shape: Any) -> Any:
        return np.zeros(() if shape is None else shape)


def find_strings(people: list[str], epsilon: float, by_hadamard: bool, step: int = STEP) -> list[str]:
    """The 20 strings that it calls most common."""
    server = CMSServer(epsilon, *SKETCH, is_hadamard=by_hadamard)
    client = CMSClient(epsilon, server.get_hash_funcs(), SKETCH[1], is_hadamard=by_hadamard)
    shared: dict[str, Any] = {"alphabet": list(string.ascii_lowercase), "index_mapper": str}
    sizes = (epsilon, 0, LETTERS, step)
    sender = PEMClient(*sizes, fo_client=client, **shared)
    receiver = PEMServer(*sizes, fo_server=server, **shared)
    for one in people:
        receiver.aggregate(sender.privatise(one))
    found, _ = receiver.find_heavy_hitters(k=TOP)
    return list(found)


def main(path: str, epsilon: float, seed: int) -> None:
    _freq_oracle_server.np = PatchedNumpy()
    people = json.loads(Path(path).read_text())
    every = [one for one, count in people.items() for _ in range(count)]
    found = {}
    for name, by_hadamard in (("PEM + CMS", False), ("PEM + HCMS", True)):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002  # the peer draws from there
        random.shuffle(every)
        found[name] = find_strings(every, epsilon, by_hadamard)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
