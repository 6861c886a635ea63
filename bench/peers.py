"""The peers' side of the table, in an environment of their own. Run by run.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from diffprivlib.mechanisms import GeometricTruncated
from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Client
from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Client
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import (
    RSpFD_GRR_Aggregator_MI,
    RSpFD_GRR_Client,
    RSpFD_UE_zero_Aggregator_MI,
    RSpFD_UE_zero_Client,
)
from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Client
from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Client, SPL_UE_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_IBU, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

from worker import Task, serve

EPSILON = 1.0


def values(k: int, n: int) -> list[int]:
    return [int(v) for v in np.random.default_rng(1).integers(0, k, n)]


def each(client: Callable[[int], Any], k: int, n: int) -> Task:
    people = values(k, n)
    return lambda: [client(value) for value in people], n


def counted(client: Callable[[int], Any], server: Callable[[list[Any]], Any], k: int, n: int) -> Task:
    reports = [client(value) for value in values(k, n)]
    return lambda: server(reports), n


def pure_server(make: Callable[[], Any]) -> Callable[[list[Any]], None]:
    def count(reports: list[Any]) -> None:
        server = make()
        for report in reports:
            server.aggregate(report)

    return count


def tasks_for(k: int) -> dict[str, Callable[[], Task]]:
    many, some, few = 100_000, 20_000, max(200, 100_000 // k)
    multi_grr: Callable[[int], Any] = lambda v: GRR_Client(v, k, EPSILON)  # noqa: E731
    multi_oue: Callable[[int], Any] = lambda v: UE_Client(v, k, EPSILON, True)  # noqa: E731
    multi_olh: Callable[[int], Any] = lambda v: LH_Client(v, k, EPSILON, True)  # noqa: E731
    multi_ss: Callable[[int], Any] = lambda v: SS_Client(v, k, EPSILON)  # noqa: E731
    zero_based = {"index_mapper": int}
    pure_oue = UEClient(EPSILON, k, use_oue=True, **zero_based)
    pure_olh = LHClient(EPSILON, k, use_olh=True, **zero_based)
    oue_server = pure_server(lambda: UEServer(EPSILON, k, use_oue=True, **zero_based))
    olh_server = pure_server(lambda: LHServer(EPSILON, k, use_olh=True, **zero_based))
    return {
        f"multi privatize grr {k}": partial(each, multi_grr, k, many),
        f"multi privatize oue {k}": partial(each, multi_oue, k, some),
        f"multi privatize olh {k}": partial(each, multi_olh, k, some),
        f"multi privatize ss {k}": partial(each, multi_ss, k, some),
        f"multi tally oue {k}": partial(
            counted, multi_oue, lambda r: UE_Aggregator_MI(r, EPSILON, True), k, some
        ),
        f"multi tally oue many {k}": partial(
            counted, multi_oue, lambda r: UE_Aggregator_MI(r, EPSILON, True), k, many
        ),
        f"multi tally olh {k}": partial(
            counted, multi_olh, lambda r: LH_Aggregator_MI(r, k, EPSILON, True), k, few
        ),
        f"multi tally ss {k}": partial(
            counted, multi_ss, lambda r: SS_Aggregator_MI(r, k, EPSILON), k, some // 10
        ),
        f"pure privatize grr {k}": partial(each, DEClient(EPSILON, k, **zero_based).privatise, k, some),
        f"pure privatize oue {k}": partial(each, pure_oue.privatise, k, some // 10),
        f"pure privatize olh {k}": partial(each, pure_olh.privatise, k, some),
        f"pure tally oue {k}": partial(counted, pure_oue.privatise, oue_server, k, some // 10),
        f"pure tally olh {k}": partial(counted, pure_olh.privatise, olh_server, k, few),
    }


def record_tasks() -> dict[str, Callable[[], Task]]:
    d, n = 10, 5_000
    ks = [10] * d
    table = np.random.default_rng(1).integers(0, 10, (n, d))
    clients: dict[str, Callable[[Any], Any]] = {
        "spl grr": lambda row: SPL_GRR_Client(row, ks, d, EPSILON),
        "smp grr": lambda row: SMP_GRR_Client(row, ks, d, EPSILON),
        "rsfd grr": lambda row: RSpFD_GRR_Client(row, ks, d, EPSILON),
        "spl oue": lambda row: SPL_UE_Client(row, ks, d, EPSILON, True),
        "rsfd oue-z": lambda row: RSpFD_UE_zero_Client(row, ks, d, EPSILON, True),
    }
    servers: dict[str, Callable[[Any], Any]] = {
        "rsfd grr": lambda reports: RSpFD_GRR_Aggregator_MI(reports, ks, d, EPSILON),
        "rsfd oue-z": lambda reports: RSpFD_UE_zero_Aggregator_MI(reports, ks, d, EPSILON, True),
    }

    def made(name: str) -> Task:
        return lambda: [clients[name](row) for row in table], n

    def counted_records(name: str) -> Task:
        reports = [clients[name](row) for row in table]
        return lambda: servers[name](reports), n

    tasks: dict[str, Callable[[], Task]] = {
        f"multi privatize {name}": partial(made, name) for name in clients
    }
    tasks |= {f"multi tally {name}": partial(counted_records, name) for name in servers}
    tasks["multi privatize l_grr"] = partial(each, lambda v: L_GRR_Client(v, 100, 2.0, 1.0), 100, n)
    tasks["multi privatize l_osue"] = partial(each, lambda v: L_OSUE_Client(v, 100, 2.0, 1.0), 100, n)
    return tasks


def most_likely() -> Task:
    """The iterative Bayesian update at its defaults, for the reports of people of whom few values
    are common.
    """
    people = np.random.default_rng(1).zipf(1.5, 100_000) % 100
    reports = np.array([GRR_Client(int(value), 100, EPSILON) for value in people])
    return lambda: GRR_Aggregator_IBU(reports, 100, EPSILON), 1


def noise() -> Task:
    mechanism = GeometricTruncated(epsilon=0.5, sensitivity=1, lower=0, upper=100)
    return each(mechanism.randomise, 101, 5_000)


if __name__ == "__main__":
    other = {"multi mle grr 100": most_likely, "diffprivlib privatize geometric 100": noise}
    serve({**tasks_for(100), **tasks_for(1000), **record_tasks(), **other})
