"""States what each way to learn protects, and what it does not."""

from __future__ import annotations

from deniable_papers.studies.applications.guarantee import Guarantee

_MODEL = "the model itself: who has it can use it on anybody"
_LABEL = "the label, which is sent as it is, so that membership is not protected"
_PRIOR = (
    "the exact shares of every column among those who teach, which are taken as published by a census; rows "
    'named "no prior" do without'
)
_UNPUBLISHED = "nothing"


def list_guarantees() -> list[tuple[str, Guarantee]]:
    """The guarantee of each way to learn, with a heading."""
    return [
        (
            "LightGBM, 4 columns sanitized",
            Guarantee(
                "epsilon for the four columns",
                "epsilon for the four columns together, given the six others",
                "record",
                (
                    "the six other columns and the label, which are raw",
                    "what these say about the four: from them, gender is guessed right for 85 % of people",
                ),
            ),
        ),
        (
            "LightGBM, 10 columns sanitized; naive Bayes from the same OUE bits",
            Guarantee(
                _UNPUBLISHED,
                "epsilon for the ten columns together, given the label; at most a tenth of it for each",
                "record",
                ("the label, which is raw", f"of naive Bayes: {_PRIOR}"),
            ),
        ),
        (
            "naive Bayes, one report, no prior",
            Guarantee(
                _UNPUBLISHED,
                "epsilon for the ten columns, given the label: one of them is drawn at random and reported "
                "at all of epsilon",
                "record",
                (_LABEL, _MODEL),
            ),
        ),
        (
            "naive Bayes, one report, no prior, label protected",
            Guarantee(
                _UNPUBLISHED,
                "epsilon for the ten columns and the label; any attack on membership has an advantage of at "
                "most (e^epsilon - 1) / (e^epsilon + 1)",
                "record",
                (_MODEL,),
            ),
        ),
        (
            "naive Bayes, one report, and a prior",
            Guarantee(
                _UNPUBLISHED,
                "epsilon for the ten columns in the report, and for the label where it is protected; nothing "
                "is promised about membership",
                "record",
                (_PRIOR, f"if it is not protected: {_LABEL}", _MODEL),
            ),
        ),
    ]
