"""The public names, their documentation, and what an import costs."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import deniable as dn
from deniable.mechanisms import protocols, robust
from tests.cases import names

PUBLIC = names(
    """
    PROTOCOLS Categories Client Code DeniableError DeniableWarning Estimate Grid InvalidParameter
    InvalidPlan InvalidReport InvalidValue Ledger Number Objective Plan Range Result Results Series
    Several Study Tally Text Texts adaptive grr hr mle olh oue remembering rr rsfd seeded smp spl ss sue
    """
)
"""A name that is added, renamed or dropped is a promise that is made or broken: it must be changed here too.
"""

ROOMS = {
    "attack": names(
        """
        AttributeAttack AttributeSuccess Chance Examination
        ProfileSuccess Reidentification ReidentificationRate Success ValueAttack
        examine guess
        profile real_attributes reidentify sampled_attribute
        sampled_success sampled_success_after success success_after
        """
    ),
    "audit": names(
        """
        LEVEL Audit Copies Devices Event Program ProgramFailed client_of lower_bound
        """
    ),
    "law": names(
        """
        Law Marginal Matrix Moments checked_prior finite
        """
    ),
    "learn": names(
        """
        PrivateNaiveBayes Privatizer
        """
    ),
    "likelihood": names(
        """
        GeometricChannel Likelihood mle mle_record
        """
    ),
    "mechanisms": names(
        """
        PROTOCOLS ChannelMechanism Direct Hadamard Hashed Linear Losses Mechanism PackedSubset Pooled
        Protocol SetMechanism SetShape Subset SubsetShape Tally Unary adaptive alh ass athe aue blh
        checked_k checked_values checked_words grr hr lh linear olh oue plh rr ss sue the ue
        """
    ),
    "metric": names(
        """
        Averaged Channel Duchi Geometric Hybrid Mean MeanEstimate MetricMechanism ORDERED OrderedProtocol
        Piecewise PlanarGeometric SquareWave duchi geometric great_circle hybrid per_meter piecewise
        planar_geometric square_wave
        """
    ),
    "randomness": names(
        """
        FULL Words below cell chance checked_source device keyed system
        """
    ),
    "records": names(
        """
        Blank Calibration Fake Faked Guessed Imitated NearBits NearSets Prior RecordMechanism Records
        Sample Single Split equal_part near_bits near_sets rsfd rsrfd smp spl
        """
    ),
    "rounds": names(
        """
        REPEATED BitFlip HashedMemoized Memoized MemoizedMean PooledMemoized Repeated RepeatedProtocol
        dbitflip l_duchi l_grr l_osue l_oue l_plh l_rsfd l_soue l_sue loloha
        """
    ),
    "summaries": names(
        """
        Group Summary groups_of mean_of quantile_between quantile_of sum_of
        """
    ),
}
"""Rooms at the top, with the public names of each."""

MODULES = [info.name for info in pkgutil.iter_modules(dn.__path__)]


def own_members(module: ModuleType) -> Iterator[tuple[str, object]]:
    """The functions and classes that a module defines and does not hide."""
    for name, member in vars(module).items():
        defined = inspect.isfunction(member) or inspect.isclass(member)
        if defined and not name.startswith("_") and getattr(member, "__module__", "") == module.__name__:
            yield name, member


def documented_protocols() -> Iterator[str]:
    """Every public function that makes a mechanism."""
    for module in (protocols, robust):
        for name, member in own_members(module):
            if inspect.isfunction(member) and name in dn.mechanisms.__all__:
                yield name


def test_public_names() -> None:
    assert sorted(dn.__all__) == sorted([*PUBLIC, *ROOMS])
    assert len(set(dn.__all__)) == len(dn.__all__) == 50
    assert dir(dn) == sorted(dn.__all__)
    assert all(hasattr(dn, name) for name in PUBLIC)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_lists_its_public_names_and_nothing_else(room: str) -> None:
    entered = getattr(dn, room)
    assert sorted(entered.__all__) == sorted(ROOMS[room])
    assert dir(entered) == sorted(entered.__all__)
    for name in ROOMS[room]:
        member = getattr(entered, name)
        assert (
            isinstance(member, float | int | tuple | dict) or name == "Calibration" or inspect.getdoc(member)
        )


ATTACKS = names("""
    AttributeSuccess Chance Examination ReidentificationRate ValueAttack ProfileSuccess Reidentification
    AttributeAttack Success real_attributes examine guess profile reidentify sampled_attribute
    sampled_success sampled_success_after success success_after
""")


def test_names_of_the_attacks() -> None:
    """They are used as dn.attack.success, and loaded when they are."""
    assert sorted(dn.attack.__all__) == sorted(ATTACKS)
    for name in ATTACKS:
        assert inspect.getdoc(getattr(dn.attack, name))
    assert "attack" in dir(dn)


def test_the_public_names_are_listed_and_nothing_else() -> None:
    assert dir(dn) == sorted(dn.__all__)


@pytest.mark.parametrize("room", ["attack", "audit", "choose"])
def test_rooms_that_people_enter_list_their_public_names(room: str) -> None:
    entered = importlib.import_module(f"deniable.{room}")
    assert dir(entered) == sorted(entered.__all__)


def test_nothing_else_is_public() -> None:
    """What the package shows beside its list are its own modules."""
    shown = {name for name in vars(dn) if not name.startswith("_")}
    assert shown - set(PUBLIC) <= set(MODULES)


def test_no_public_name_hides_a_module() -> None:
    assert not set(PUBLIC) & set(MODULES)
    for name in MODULES:
        if f"deniable.{name}" in sys.modules:
            assert inspect.ismodule(getattr(dn, name))


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "PROTOCOLS"])
def test_public_names_are_documented(name: str) -> None:
    text = inspect.getdoc(getattr(dn, name))
    assert text
    assert text[0].isupper()
    assert "dict(" not in text
    assert not text.startswith(f"{name}("), "a signature is no documentation"


@pytest.mark.parametrize("module", [name for name in MODULES if not name.startswith("_")])
def test_modules_and_their_members_are_documented(module: str) -> None:
    loaded = importlib.import_module(f"deniable.{module}")
    assert inspect.getdoc(loaded)
    texts = {name: getattr(member, "__doc__", None) or "" for name, member in own_members(loaded)}
    undocumented = [name for name, text in texts.items() if not text or text.startswith(f"{name}(")]
    assert undocumented == []


def test_every_row_is_a_public_function_of_its_name() -> None:
    for name, row in dn.PROTOCOLS.items():
        assert row.name == name
        assert row.make is getattr(dn.mechanisms, name)
        assert row.title
        assert row.title[-1] in ".:"
    rows = set(dn.PROTOCOLS)
    assert set(documented_protocols()) == rows | {"rr", "ue", "lh", "linear"}


@pytest.mark.parametrize("name", list(documented_protocols()))
def test_protocols_say_what_they_are_for(name: str) -> None:
    """p and q, when to choose it, an example that is run, and where it comes from."""
    text = inspect.getdoc(getattr(dn.mechanisms, name)) or ""
    assert re.search(r"\bp\b", text), "what is p?"
    assert re.search(r"\bq\b", text), "what is q?"
    assert re.search(r"\bChoose it\b", text), "when should it be chosen?"
    assert re.search(r"^>>> ", text, re.MULTILINE), "there is no example"
    assert re.search(r"^Reference: [a-z]+\d{4}\.$", text, re.MULTILINE), "where does it come from?"


IMPORT = """
import sys, time
start = time.process_time()
import numpy
alone = time.process_time() - start
from deniable import Client, Ledger, Plan
took = (time.process_time() - start) / alone
assert "deniable.audit" not in sys.modules
heavy = {"numba", "scipy", "scipy.stats", "matplotlib", "pandas", "polars", "cryptography"}
print(took, *heavy.intersection(sys.modules))
"""


def test_a_device_starts_fast() -> None:
    """Within 6 times the CPU time of NumPy, which it imports; without what only some calls need. It takes
    3 times, so that twice as long fails, and a busy machine slows both.
    """
    runs = [
        subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    took = [run.stdout.split() for run in runs]
    assert all(heavy == [] for _, *heavy in took)
    assert min(float(ratio) for ratio, *_ in took) < 6


def test_a_collector_starts_without_scipy() -> None:
    """Who waits for it has no estimate yet."""
    start = "import sys, deniable.collect.serving; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", start], check=False).returncode == 0
