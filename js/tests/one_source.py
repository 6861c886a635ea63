"""Writes random plans of mixed kinds, with how often each answer is guessed, as `deniable plan` states it."""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.random_studies import draw_studies

from deniable.explain.explain import reconsider
from deniable.explain.guesses import guess_questions
from deniable.plan.attribute import list_related

STUDIES = 200

with tempfile.TemporaryDirectory() as folder:
    for study in draw_studies(STUDIES, Path(folder)):
        content = study.plan.document
        related = {name for names in list_related(content.attributes) for name in names}
        held = dict(zip(study.plan.names, content.parts, strict=True))
        rows = [
            guess.to_dict()
            | {
                "related": guess.attribute in related,
                "shape": type(held[guess.attribute]).__name__ if guess.attribute in held else "",
            }
            for guess in guess_questions(content, reconsider(content, study.plan.considered))
        ]
        questions = [*content.domains]
        print(json.dumps({"plan": study.plan.to_json(), "questions": questions, "guesses": rows}))
