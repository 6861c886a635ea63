"""Cites the work that a plan uses, as BibTeX; the keys are those of docs/references.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import singledispatch

from deniable import crowd
from deniable.mechanisms import (
    PROTOCOLS,
    Direct,
    ExactMechanism,
    Linear,
    Unary,
    linear,
    recognize,
    reference_of,
)
from deniable.metric import (
    Averaged,
    Geometric,
    PlanarGeometric,
    SmoothWave,
    duchi,
    geometric,
    hybrid,
    piecewise,
    planar_geometric,
    square_wave,
)
from deniable.records import RecordMechanism
from deniable.rounds import (
    BitFlip,
    HashedMemoized,
    Memoized,
    MemoizedMean,
    dbitflip,
    l_duchi,
    l_grr,
    l_osue,
    l_oue,
    l_soue,
    l_sue,
    loloha,
)


@singledispatch
def name_protocol(part: ExactMechanism) -> str:
    """The name people know a mechanism by; where no protocol makes it, what it is."""
    if type(part) in _NAMES:
        return _NAMES[type(part)]
    row = recognize(part)
    if row is not None:
        return row.name
    return part.outline


@name_protocol.register
def _(part: Memoized) -> str:
    if not part.bitwise:
        return "l_grr"
    first, second = _unary_kind(part.first), _unary_kind(part.second)
    return f"l_{first if first != second else ''}{second}ue"


@name_protocol.register
def _(part: Averaged) -> str:
    return type(part.of).__name__.lower()


def _reference(part: ExactMechanism) -> str | None:
    """The key of what is to be cited for a mechanism; None where no protocol makes it."""
    name = name_protocol(part)
    if name in PROTOCOLS:
        return PROTOCOLS[name].reference
    return reference_of(_OTHERS[name]) if name in _OTHERS else None


def keys(mechanism: RecordMechanism, more: Iterable[str] = ()) -> list[str]:
    """The references of a record mechanism and of its parts, in order of appearance, and more after them."""
    parts = mechanism.mechanisms
    found = [key for key in map(_reference, parts) if key is not None]
    found += [*mechanism.references, *more]
    if not any(part.repeated or part.metric for part in parts):
        found += crowd.references(mechanism)  # what a shuffler would add is explained for one report each
    return list(dict.fromkeys([*found, "clopper1934"]))


def bibliography(mechanism: RecordMechanism, more: Iterable[str] = ()) -> str:
    """BibTeX entries, with a blank line between them."""
    return "\n\n".join(_entry(key) for key in keys(mechanism, more))


def _unary_kind(part: Direct | Unary) -> str:
    """Optimized, symmetric, or neither."""
    law = part.law
    if law.exact_p * 2 == 1:
        return "o"
    return "s" if law.exact_p + law.exact_q == 1 else ""


def _entry(key: str) -> str:
    kind, fields = _ENTRIES[key]
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


_NAMES: dict[type[ExactMechanism], str] = {
    HashedMemoized: "loloha",
    MemoizedMean: "l_duchi",
    BitFlip: "dbitflip",
    Geometric: "geometric",
    PlanarGeometric: "planar_geometric",
    Linear: "linear",
    SmoothWave: "square_wave",
}
"""Mechanisms that are made in one way only."""
_OTHERS: Mapping[str, Callable[..., object]] = {
    one.__name__: one
    for one in (
        l_duchi,
        l_grr,
        l_sue,
        l_oue,
        l_osue,
        l_soue,
        loloha,
        dbitflip,
        geometric,
        planar_geometric,
        duchi,
        piecewise,
        hybrid,
        linear,
        square_wave,
    )
}
"""What makes the mechanisms that are not in the table of protocols."""

_ENTRIES: dict[str, tuple[str, dict[str, str]]] = {
    "kairouz2016": (
        "inproceedings",
        {
            "author": "Kairouz, Peter and Bonawitz, Keith and Ramage, Daniel",
            "title": "Discrete Distribution Estimation under Local Privacy",
            "booktitle": "International Conference on Machine Learning (ICML)",
            "pages": "2436--2444",
            "year": "2016",
        },
    ),
    "erlingsson2014": (
        "inproceedings",
        {
            "author": "Erlingsson, {\\'U}lfar and Pihur, Vasyl and Korolova, Aleksandra",
            "title": "{RAPPOR}: Randomized Aggregatable Privacy-Preserving Ordinal Response",
            "booktitle": "ACM Conference on Computer and Communications Security (CCS)",
            "pages": "1054--1067",
            "year": "2014",
        },
    ),
    "wang2017": (
        "inproceedings",
        {
            "author": "Wang, Tianhao and Blocki, Jeremiah and Li, Ninghui and Jha, Somesh",
            "title": "Locally Differentially Private Protocols for Frequency Estimation",
            "booktitle": "USENIX Security Symposium",
            "pages": "729--745",
            "year": "2017",
        },
    ),
    "ye2018": (
        "article",
        {
            "author": "Ye, Min and Barg, Alexander",
            "title": "Optimal Schemes for Discrete Distribution Estimation under Locally Differential "
            "Privacy",
            "journal": "IEEE Transactions on Information Theory",
            "volume": "64",
            "number": "8",
            "pages": "5662--5676",
            "year": "2018",
        },
    ),
    "bassily2015": (
        "inproceedings",
        {
            "author": "Bassily, Raef and Smith, Adam",
            "title": "Local, Private, Efficient Protocols for Succinct Histograms",
            "booktitle": "ACM Symposium on Theory of Computing (STOC)",
            "pages": "127--135",
            "year": "2015",
        },
    ),
    "acharya2019": (
        "inproceedings",
        {
            "author": "Acharya, Jayadev and Sun, Ziteng and Zhang, Huanyu",
            "title": "Hadamard Response: Estimating Distributions Privately, Efficiently, and with Little "
            "Communication",
            "booktitle": "Artificial Intelligence and Statistics (AISTATS)",
            "pages": "1120--1129",
            "year": "2019",
        },
    ),
    "arcolezi2021": (
        "inproceedings",
        {
            "author": "Arcolezi, H{\\'e}ber H. and Couchot, Jean-Fran{\\c{c}}ois and Al Bouna, Bechara and "
            "Xiao, Xiaokui",
            "title": "Random Sampling Plus Fake Data: Multidimensional Frequency Estimates with Local "
            "Differential Privacy",
            "booktitle": "ACM International Conference on Information and Knowledge Management (CIKM)",
            "pages": "47--57",
            "year": "2021",
        },
    ),
    "arcolezi2022": (
        "article",
        {
            "author": "Arcolezi, H{\\'e}ber H. and Couchot, Jean-Fran{\\c{c}}ois and Al Bouna, Bechara and "
            "Xiao, Xiaokui",
            "title": "Improving the Utility of Locally Differentially Private Protocols for Longitudinal and "
            "Multidimensional Frequency Estimates",
            "journal": "Digital Communications and Networks",
            "year": "2022",
        },
    ),
    "arcolezi2023": (
        "article",
        {
            "author": "Arcolezi, H{\\'e}ber H. and Gambs, S{\\'e}bastien and Couchot, Jean-Fran{\\c{c}}ois "
            "and Palamidessi, Catuscia",
            "title": "On the Risks of Collecting Multidimensional Data under Local Differential Privacy",
            "journal": "Proceedings of the VLDB Endowment",
            "volume": "16",
            "number": "5",
            "pages": "1126--1139",
            "year": "2023",
        },
    ),
    "arcolezi2023loloha": (
        "inproceedings",
        {
            "author": "Arcolezi, H{\\'e}ber H. and Pinz{\\'o}n, Carlos and Palamidessi, Catuscia and Gambs, "
            "S{\\'e}bastien",
            "title": "Frequency Estimation of Evolving Data under Local Differential Privacy",
            "booktitle": "International Conference on Extending Database Technology (EDBT)",
            "year": "2023",
        },
    ),
    "revisiting2025": (
        "misc",
        {
            "author": "Arcolezi, H{\\'e}ber H. and Gambs, S{\\'e}bastien",
            "title": "Revisiting Locally Differentially Private Protocols: Towards Better Trade-offs in "
            "Privacy, Utility, and "
            "Attack Resistance",
            "howpublished": "arXiv 2503.01482",
            "year": "2025",
        },
    ),
    "ding2017": (
        "inproceedings",
        {
            "author": "Ding, Bolin and Kulkarni, Janardhan and Yekhanin, Sergey",
            "title": "Collecting Telemetry Data Privately",
            "booktitle": "Advances in Neural Information Processing Systems (NeurIPS)",
            "year": "2017",
        },
    ),
    "kacem2018": (
        "inproceedings",
        {
            "author": "Kacem, Ghazaleh and Palamidessi, Catuscia",
            "title": "Geometric Noise for Locally Private Counting Queries",
            "booktitle": "Workshop on Programming Languages and Analysis for Security (PLAS)",
            "year": "2018",
        },
    ),
    "andres2013": (
        "inproceedings",
        {
            "author": "Andr{\\'e}s, Miguel E. and Bordenabe, Nicol{\\'a}s E. and Chatzikokolakis, "
            "Konstantinos and "
            "Palamidessi, Catuscia",
            "title": "Geo-Indistinguishability: Differential Privacy for Location-Based Systems",
            "booktitle": "ACM Conference on Computer and Communications Security (CCS)",
            "pages": "901--914",
            "year": "2013",
        },
    ),
    "duchi2018": (
        "article",
        {
            "author": "Duchi, John C. and Jordan, Michael I. and Wainwright, Martin J.",
            "title": "Minimax Optimal Procedures for Locally Private Estimation",
            "journal": "Journal of the American Statistical Association",
            "volume": "113",
            "number": "521",
            "pages": "182--201",
            "year": "2018",
        },
    ),
    "wang2019": (
        "inproceedings",
        {
            "author": "Wang, Ning and Xiao, Xiaokui and Yang, Yin and Zhao, Jun and Hui, Siu Cheung and "
            "Shin, Hyejin and "
            "Shin, Junbum and Yu, Ge",
            "title": "Collecting and Analyzing Multidimensional Data with Local Differential Privacy",
            "booktitle": "IEEE International Conference on Data Engineering (ICDE)",
            "pages": "638--649",
            "year": "2019",
        },
    ),
    "feldman2023": (
        "inproceedings",
        {
            "author": "Feldman, Vitaly and McMillan, Audra and Talwar, Kunal",
            "title": "Stronger Privacy Amplification by Shuffling for R{\\'e}nyi and Approximate "
            "Differential Privacy",
            "booktitle": "ACM-SIAM Symposium on Discrete Algorithms (SODA)",
            "year": "2023",
        },
    ),
    "balle2019": (
        "inproceedings",
        {
            "author": "Balle, Borja and Bell, James and Gasc{\\'o}n, Adri{\\`a} and Nissim, Kobbi",
            "title": "The Privacy Blanket of the Shuffle Model",
            "booktitle": "Annual International Cryptology Conference (CRYPTO)",
            "year": "2019",
        },
    ),
    "feldman2021": (
        "inproceedings",
        {
            "author": "Feldman, Vitaly and McMillan, Audra and Talwar, Kunal",
            "title": "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy Amplification "
            "by Shuffling",
            "booktitle": "IEEE Symposium on Foundations of Computer Science (FOCS)",
            "year": "2021",
        },
    ),
    "cormode2019": (
        "article",
        {
            "author": "Cormode, Graham and Kulkarni, Tejas and Srivastava, Divesh",
            "title": "Answering Range Queries under Local Differential Privacy",
            "journal": "Proceedings of the VLDB Endowment",
            "volume": "12",
            "number": "10",
            "pages": "1126--1138",
            "year": "2019",
        },
    ),
    "li2020": (
        "inproceedings",
        {
            "author": 'Li, Zitao and Wang, Tianhao and Lopuha{\\"a}-Zwakenberg, Milan and Li, Ninghui and '
            "{\\v{S}}kori{\\'c}, Boris",
            "title": "Estimating Numerical Distributions under Local Differential Privacy",
            "booktitle": "ACM SIGMOD International Conference on Management of Data",
            "pages": "621--635",
            "year": "2020",
        },
    ),
    "feldman2022": (
        "inproceedings",
        {
            "author": "Feldman, Vitaly and Nelson, Jelani and Nguyen, Huy L{\\^e} and Talwar, Kunal",
            "title": "Private Frequency Estimation via Projective Geometry",
            "booktitle": "International Conference on Machine Learning (ICML)",
            "year": "2022",
        },
    ),
    "clopper1934": (
        "article",
        {
            "author": "Clopper, C. J. and Pearson, E. S.",
            "title": "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
            "journal": "Biometrika",
            "volume": "26",
            "number": "4",
            "pages": "404--413",
            "year": "1934",
        },
    ),
}
