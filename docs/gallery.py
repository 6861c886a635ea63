"""Makes the pictures of docs/gallery.md: `.venv/bin/python docs/gallery.py`. The same pictures every time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import deniable as dn
from deniable.plot import figure as figure_files
from deniable_papers import data
from deniable_papers.simulate import measure as simulate
from deniable_papers.simulate import plot, population
from deniable_papers.studies import allomfree, poisoning, risks, rsfd, tradeoffs
from deniable_papers.studies.plot import poisoning as plot_poisoning
from deniable_papers.studies.plot import risks as plot_risks
from deniable_papers.studies.plot import sweeps as plot_studies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGES = Path(__file__).parent / "images"
EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)


def estimates(n: int) -> Figure:
    """One study: the truth, and what n reports say about it."""
    people = population.geometric(20, 0.85)
    truth = people.draw_counts(n, np.random.default_rng(1))
    m = dn.adaptive(people.k, 1.0)
    reports = m.privatize(np.repeat(np.arange(people.k), truth), dn.seeded(1))
    return plot.histogram_plot(
        m.estimate(m.tally(reports)), truth / n, note=", subset selection, epsilon = 1"
    )


def errors() -> Figure:
    """Error against epsilon for a small and a large domain."""
    names = ["grr", "sue", "oue", "ss", "hr"]
    return plot.error_plot(
        simulate.sweep(names, EPSILONS, [10, 1000], [100_000], population.zipf, repeats=20)
    )


def attacks() -> Figure:
    """Attack against epsilon, with and without an eye on it."""
    names = ["grr", "ss", "oue", "olh", "aue", "hr"]
    return plot.attack_plot(simulate.sweep(names, EPSILONS, [100], [1000], population.uniform, repeats=1))


def published_and_true() -> Figure:
    """RS+FD as published and at the loss that it states, beside SMP and SPL."""
    return plot_studies.rsfd_plot(list(rsfd.reproduce([data.load("nursery"), data.load("adult")])))


def two_rounds() -> Figure:
    """One collection of many, for the parts of the budget that one report may spend."""
    return plot_studies.allomfree_plot(list(allomfree.reproduce([data.load("adult")])))


def realistic_fakes() -> Figure:
    """Which attribute is real in RS+RFD, by an attacker who ignores the public prior, and by one who does
    not.
    """
    people = [data.load("acs-employment")]
    return plot_risks.risks_plot(
        list(risks.reproduce(people, ["rsrfd"], runs=2, attacks=["bayes", "bayes-uniform"]))
    )


def error_and_attack() -> Figure:
    """Error against attack: classical and robust protocols, exact and by the published formulas."""
    rows = list(tradeoffs.reproduce(runs=1, users=5000))
    return plot_risks.tradeoffs_plot(list(tradeoffs.mark_front(rows)))


def made_up_reports() -> Figure:
    """What the published poisoning attacks gain, and what some defenses leave of it."""
    return plot_poisoning.poisoning_plot(list(poisoning.reproduce(epsilons=[1.0])))


def save(figure: Figure, name: str) -> None:
    """Write a picture with few colors, which is small."""
    from PIL import Image

    path = figure_files.save(figure, IMAGES / f"{name}.png")
    Image.open(path).convert("RGB").quantize(48, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    save(estimates(50_000), "estimates")
    save(estimates(2_000), "few-people")
    save(errors(), "error")
    save(attacks(), "attack")
    save(published_and_true(), "rsfd")
    save(two_rounds(), "allomfree")
    save(realistic_fakes(), "realistic-fakes")
    save(error_and_attack(), "error-and-attack")
    save(made_up_reports(), "made-up-reports")
