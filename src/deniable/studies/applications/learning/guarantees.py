"""States what each way to learn protects, and what it does not."""

from __future__ import annotations

from deniable.studies.applications.guarantee import Guarantee

_NOTHING = "the model itself: who has it can use it on anybody"


def list_guarantees() -> list[tuple[str, Guarantee]]:
    """The guarantee of each way to learn, with a heading."""
    return [
        (
            "LightGBM, 4 columns sanitized",
            Guarantee(
                "epsilon for the four columns",
                "epsilon for the four columns together, given the six others",
                "attribute",
                (
                    "the six other columns and the label, which are raw",
                    "what these say about the four: from them, gender is guessed right for 85 % of people",
                ),
            ),
        ),
        (
            "LightGBM, 10 columns sanitized; naive Bayes from the same bits",
            Guarantee(
                "epsilon for the record",
                "epsilon for the ten columns together, at most a tenth of it for each",
                "record",
                ("the label, which is raw",),
            ),
        ),
        (
            "naive Bayes, one report",
            Guarantee(
                "epsilon for the record",
                "epsilon for the ten columns: one of them is drawn at random and reported at all of epsilon",
                "record",
                ("the label, which is sent as it is, so that membership is not protected", _NOTHING),
            ),
        ),
        (
            "naive Bayes, one report, label protected",
            Guarantee(
                "epsilon for the record",
                "epsilon for the ten columns and the label; any attack on membership has an advantage of at "
                "most (e^epsilon - 1) / (e^epsilon + 1)",
                "record",
                (_NOTHING,),
            ),
        ),
    ]
