"""Writes the figures of the page as bars of plain letters, which a log shows as well as a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deniable.attack.page.wording import mark_figure
from deniable.attack.results import AttributeSuccess
from deniable.formatting import format_percent

_WIDE = 40  # letters of 100 %
_NAMED = 24  # letters of a name
_MOST = 12  # attributes: those of which reports tell most
_BLIND, _LEARNED = "-", "#"


def seen_as(headers: Sequence[str], collections: int, may_lack: bool, noise_kept: bool) -> dict[str, str]:
    """Names the figures by their headers: one report, and all reports of people who are asked each time."""
    _, one_report, holding, known, kept, fresh = headers
    seen = {one_report: "report", **({holding: "reported"} if may_lack else {})}
    if collections > 1:
        all_reports = known if may_lack else kept if noise_kept else fresh
        seen[all_reports] = "reported_memoized" if noise_kept else "reported_averaged"
    return seen


def in_bars(attributes: Sequence[AttributeSuccess], informed: bool, figures: Mapping[str, str]) -> str:
    """Figures by what they are called; what is guessed blindly is a part of each bar.

    >>> town = AttributeSuccess("town", 4, 0.25, 0.5, 0.5, 0.5, 0.75, 0.5, 0.75)
    >>> print(in_bars([town], False, {"one report": "report", "5 x fresh noise": "reported_averaged"}))
    In bars of up to 100 %, knowing nothing else: blind (-), and what reports add (#)
      town  one report       ----------##########                      50 %
            5 x fresh noise  ----------####################            75 %
    """
    exposed = sorted(
        attributes,
        key=lambda attribute: (
            attribute.blind - max(_read_figure(attribute, name) for name in figures.values())
        ),
    )[:_MOST]
    listed = [attribute for attribute in attributes if attribute in exposed]
    names = [
        attribute.name if len(attribute.name) <= _NAMED else f"{attribute.name[: _NAMED - 3]}..."
        for attribute in listed
    ]
    name_width, label_width = max(map(len, names)), max(map(len, figures))
    knowing = "how frequent the answers are" if informed else "nothing else"
    lines = [
        f"In bars of up to 100 %, knowing {knowing}: blind ({_BLIND}), and what reports add ({_LEARNED})"
    ]
    for attribute, name in zip(listed, names, strict=True):
        for i, (label, figure) in enumerate(figures.items()):
            share = _read_figure(attribute, figure)
            marked = mark_figure(
                format_percent(share), figure in attribute.stderr, figure in attribute.bounds
            )
            bar, first = _bar(attribute.blind, share), "" if i else name
            lines.append(f"  {first:{name_width}}  {label:{label_width}}  {bar:{_WIDE}}  {marked}")
    left = len(attributes) - len(listed)
    return "\n".join([*lines, *([f"  and {left} more, of which reports tell less"] if left else [])])


def _read_figure(attribute: AttributeSuccess, figure: str) -> float:
    return float(getattr(attribute, figure))


def _bar(blind: float, right: float) -> str:
    known = round(_WIDE * blind)
    return _BLIND * known + _LEARNED * max(0, round(_WIDE * right) - known)
