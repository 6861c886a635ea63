"""Holds the file that is designed, and the plans of its latest drafts."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from typing import Any, final

from deniable.advise.parts import AdviceOnParts, advise_parts
from deniable.design.download import pack
from deniable.design.draft import Draft, note_people, read_people
from deniable.design.forecast import forecast_study
from deniable.design.preview import preview
from deniable.design.problems import Checked, Problem, check
from deniable.design.rewrite import rewrite_draft
from deniable.errors import DeniableError, InvalidParameter
from deniable.exact import whole_number
from deniable.frames import read_toml, replacing
from deniable.study import Plan
from deniable.study.study import Study

PEOPLE = 1000
"""How many people a page expects at first, where the file does not say."""
_MOST_PEOPLE = 10**15
_MOST_PLANS = 16  # of the latest drafts
_MOST_ADVICE = 4
_NEW = "epsilon = 1.0\n"


@final
class Stale(DeniableError):
    """The page has asked for something newer meanwhile."""


@final
class Changed(DeniableError):
    """The file was changed by somebody else since it was read."""


@final
class Incomplete(DeniableError):
    """The draft is no study yet."""


@final
class Workshop:
    """What the page works with: one file, and what was computed of its drafts."""

    def __init__(self, file: Path, people: int | None = None) -> None:
        self.file = file
        self._people = people
        self._plans: OrderedDict[str, tuple[Plan, ...]] = OrderedDict()  # by the draft
        self._forecasts: dict[str, dict[str, Any]] = {}  # by the ids of the plans
        self._turns: dict[str, int] = {}
        self._advice: OrderedDict[str, AdviceOnParts[Study]] = OrderedDict()
        self._advising = threading.Lock()
        self._working = threading.Lock()  # one draft at a time: what waits may be stale when its turn comes
        self._simulating = threading.Lock()
        self.read()

    def read(self) -> dict[str, Any]:
        """The draft in the file, or a new one; what is no TOML is refused."""
        text = self._text()
        if text is not None:
            read_toml(self.file)  # says what is wrong in plain words
        draft = Draft.read(_NEW if text is None else text)
        people = self._people or read_people(text or "") or PEOPLE
        facts = {"file": self.file.name, "is_new": text is None, "version": _version(text)}
        return facts | {"people": people} | draft.to_json()

    def forecast(self, draft: Draft, people: object, page: str = "", turn: int = 0) -> dict[str, Any]:
        """What is wrong with a draft, and the figures of all that is right; a stale draft is refused."""
        self._turns[page] = max(turn, self._turns.get(page, 0))
        with self._working:
            if turn < self._turns[page]:
                raise Stale("the page has changed since")
            checked = check(draft, self.file.parent)
            problems = list(checked.problems)
            forecast = None
            try:
                expected = _checked_people(people)
                if checked.study is not None:
                    forecast = self._forecast(checked.study, expected, draft)
            except InvalidParameter as problem:
                about = "people" if "number of people" in str(problem) else None
                problems.append(Problem(str(problem), None, about))
            return {"problems": [asdict(problem) for problem in problems], "forecast": forecast}

    def _forecast(self, study: Study, people: int, draft: Draft) -> dict[str, Any]:
        key = json.dumps([draft.to_json(), people], sort_keys=True)
        plans = self._plans.get(key) or study.plans(people)
        self._plans[key] = plans
        self._plans.move_to_end(key)
        ids = " ".join(plan.id for plan in plans)
        while len(self._plans) > _MOST_PLANS:
            _, old = self._plans.popitem(last=False)
            self._forecasts.pop(" ".join(plan.id for plan in old), None)
        if ids not in self._forecasts:
            self._forecasts[ids] = forecast_study(plans)
        return self._forecasts[ids]

    def advise(
        self, draft: Draft, people: object, want: object, may_know: object, page: str = "", turn: int = 0
    ) -> dict[str, Any]:
        """What would make the study of a draft useful; work for a stale draft is given up."""
        return self._advise(draft, people, want, may_know, page, turn).to_dict()

    def _advise(
        self, draft: Draft, people: object, want: object, may_know: object, page: str = "", turn: int = 0
    ) -> AdviceOnParts[Study]:
        key = json.dumps([draft.to_json(), people, want, may_know], sort_keys=True)

        def stop_stale(*_: int) -> None:
            if turn < self._turns.get(page, 0):
                raise Stale("the page has changed since")

        with self._advising:
            if key not in self._advice:
                stop_stale()
                study = check(draft, self.file.parent).study
                if study is None:
                    raise Incomplete("there is no advice before one question is complete")
                known = may_know if isinstance(may_know, list) else []
                names = [name for name in known if name in study.attributes]
                self._advice[key] = advise_parts(study, _checked_people(people), str(want), names, stop_stale)
            self._advice.move_to_end(key)
            while len(self._advice) > _MOST_ADVICE:
                self._advice.popitem(last=False)
            return self._advice[key]

    def apply(
        self, draft: Draft, people: object, want: object, may_know: object, numbers: object
    ) -> dict[str, Any]:
        """The draft with the changes of these proposals, and what they make."""
        advice = self._advise(draft, people, want, may_know)
        changed = advice.combine(numbers if isinstance(numbers, list) else [])
        for before, proposal in changed:
            draft = rewrite_draft(draft, before, proposal.study, self.file.parent)
        proposals = [proposal for _, proposal in changed]
        return draft.to_json() | {
            "people": max(proposal.people for proposal in proposals),
            "proposals": [proposal.to_dict() for proposal in proposals],
        }

    def plan(self, plan_id: str) -> Plan:
        """The plan of one of the latest drafts."""
        return next(plan for plan in self.plans(plan_id) if plan.id == plan_id)

    def plans(self, plan_id: str) -> tuple[Plan, ...]:
        """All plans of the latest draft that has this one."""
        for plans in reversed(list(self._plans.values())):
            if any(plan.id == plan_id for plan in plans):
                return plans
        raise Stale(f"plan {plan_id[:12]} is not of the latest drafts")

    def preview(self, plan_id: str, truth: object, seed: object) -> dict[str, Any]:
        """What results would look like, on simulated answers."""
        plans = self.plans(plan_id)
        with self._simulating:
            drawn = whole_number("seed", seed, 0, 10**9)
            previews = [preview(plan, str(truth), drawn) for plan in plans]
        shown = {key: [row for result in previews for row in result[key]] for key in ("questions", "tables")}
        return previews[0] | shown

    def download(self, draft: Draft, people: object, url: object, letters: object) -> bytes:
        """The plan of a complete draft with its letters and its notebook, as a zip file."""
        checked = check(draft, self.file.parent)
        _refuse_incomplete(checked, draft)
        assert checked.study is not None, "it is complete"
        plans = checked.study.plans(_checked_people(people))
        return pack(plans, self.file.stem, str(url or "").strip(), letters)

    def write(
        self, draft: Draft, version: object, people: object = None, force: bool = False
    ) -> dict[str, Any]:
        """Write the file, unless somebody else has changed it; `force` writes it all the same."""
        checked = check(draft, self.file.parent)
        _refuse_incomplete(checked, draft)
        with self._working:
            text = self._text()
            if not force and _version(text) != version:
                raise Changed(f"{self.file.name} was changed on disk since this page read it")
            written = draft.write(_readable(text))
            if people is not None:
                written = note_people(written, _checked_people(people), self.file.name)
            # what nobody else may read stays so
            is_private = self.file.exists() and not self.file.stat().st_mode & 0o077
            with replacing(self.file, private=is_private) as temporary:
                temporary.write_text(written, encoding="utf-8", newline="")
        return {"version": _version(written), "text": written}

    def _text(self) -> str | None:
        try:
            return self.file.read_bytes().decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise InvalidParameter(f"{self.file.name} is not a text in UTF-8") from None


def _refuse_incomplete(checked: Checked, draft: Draft) -> None:
    if not draft.questions:
        raise Incomplete("a study asks at least one question; add one")
    if checked.problems:
        first = checked.problems[0]
        where = "" if first.question is None else f"{draft.questions[first.question].name or 'a question'}: "
        raise Incomplete(f"not saved, since the study is not complete: {where}{first.text}")


def _readable(text: str | None) -> str:
    """What is kept of a text: nothing, where somebody made it unreadable."""
    try:
        Draft.read(text or "")
    except ValueError:  # TOML's, and ours
        return ""
    return text or ""


def _version(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()


def _checked_people(people: object) -> int:
    return whole_number("the number of people", people, 1, _MOST_PEOPLE)
