"""Who to cite for what a plan uses, as BibTeX; the keys are those of docs/references.md."""

from __future__ import annotations

import math

from deniable.mechanisms import Direct, ExactMechanism, Hadamard, Hashed, Subset, Unary
from deniable.metric import Averaged, Geometric, MetricMechanism, PlanarGeometric
from deniable.records import RecordMechanism
from deniable.rounds import BitFlip, HashedMemoized, Memoized, Repeated
from deniable.words import FULL


def protocol_name(part: ExactMechanism) -> str:
    """The name people know a mechanism by, from its numbers."""
    if isinstance(part, Direct):
        return "grr"
    if isinstance(part, Unary):
        return {"o": "oue", "s": "sue", "": "ue"}[_kind(part)]
    if isinstance(part, Subset):  # one of another size is made for a cap on the guess
        return "ss" if any(part.size == max(1, round(part.k / (e + 1))) for e in _odds(part)) else "ass"
    if isinstance(part, Hashed):
        return "blh" if part.g == 2 else "olh" if any(part.g == round(e) + 1 for e in _odds(part)) else "alh"
    if isinstance(part, Hadamard):
        return "hr"
    if isinstance(part, Memoized):
        if isinstance(part.first, Unary) and isinstance(part.second, Unary):
            first, second = _kind(part.first), _kind(part.second)
            return f"l_{first if first != second else ''}{second}ue"
        return "l_grr"
    if isinstance(part, HashedMemoized):
        return "loloha"
    if isinstance(part, Averaged):
        return type(part.of).__name__.lower()
    if isinstance(part, Geometric):
        return "geometric"
    if isinstance(part, PlanarGeometric):
        return "planar_geometric"
    return "dbitflip" if isinstance(part, BitFlip) else type(part).__name__


def _odds(part: ExactMechanism) -> tuple[float, float]:
    """e^epsilon, a little more and a little less: a loss is rounded, and a size by it may be at an edge."""
    return math.exp(part.loss() * (1 - 1e-9)), math.exp(part.loss() * (1 + 1e-9))


def keys(mechanism: RecordMechanism) -> list[str]:
    """The references of a record mechanism and of its parts, in order of appearance."""
    parts = mechanism.mechanisms
    found = [_PROTOCOLS[protocol_name(part)] for part in parts]
    found += mechanism.references
    if not any(isinstance(part, Repeated | MetricMechanism) for part in parts):
        found.append("feldman2021")  # what a shuffler would add is explained for one report each
    return list(dict.fromkeys([*found, "clopper1934"]))


def bibliography(mechanism: RecordMechanism) -> str:
    """BibTeX entries, with a blank line between them."""
    return "\n\n".join(_entry(key) for key in keys(mechanism))


def _kind(part: Unary) -> str:
    """Optimized, symmetric, or neither."""
    if part.one == FULL >> 1:
        return "o"
    return "s" if part.one + part.zero == FULL else ""


def _entry(key: str) -> str:
    kind, fields = _ENTRIES[key]
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


_PROTOCOLS = {
    "grr": "kairouz2016",
    "sue": "erlingsson2014",
    "oue": "wang2017",
    "ue": "wang2017",
    "ss": "ye2018",
    "ass": "revisiting2025",
    "alh": "revisiting2025",
    "blh": "bassily2015",
    "olh": "wang2017",
    "hr": "acharya2019",
    "l_grr": "arcolezi2022",
    "l_sue": "erlingsson2014",
    "l_oue": "arcolezi2022",
    "l_ue": "arcolezi2022",
    "l_osue": "arcolezi2022",
    "l_soue": "arcolezi2022",
    "loloha": "arcolezi2023loloha",
    "dbitflip": "ding2017",
    "geometric": "kacem2018",
    "planar_geometric": "andres2013",
    "duchi": "duchi2018",
    "piecewise": "wang2019",
    "hybrid": "wang2019",
}

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
