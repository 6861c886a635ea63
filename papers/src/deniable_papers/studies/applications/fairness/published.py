"""Lists what was published for some points of the study, seed by seed, and compares means of equal seeds.

The first splits have a larger parity difference than others (by up to .02), so that only equal seeds compare.
The numbers are ten thousandths, in the order of METRICS: acc, f1, spd, di, eod, oad.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable_papers.studies.applications.fairness.model import METRICS, RAW

SAME = 5e-4
"""How far a model of raw values may be from the published one of the same seed: it has no noise."""
_REACH = 3.0  # standard errors
_SCALE = 1e4


@final
@dataclass(frozen=True)
class Comparison:
    """Published means of the same seeds, by metric, and how far a mean may be from them by chance."""

    published: dict[str, float]
    margin: dict[str, float]


def compare(case: str, mechanism: str, epsilon: float | None, split: str, runs: int) -> Comparison | None:
    """What was published for this point; None where it is not listed for as many seeds.

    Noise and its seeds differ from the published ones, the splits do not. The margin is three standard errors
    of a mean of these seeds and one of all that are published, by their standard deviation.
    """
    key = (case, mechanism) if mechanism == RAW else (case, mechanism, epsilon, split)
    if key not in _LISTED:
        return None
    table = _read(_LISTED[key])
    if runs > len(table):
        return None
    means = table[:runs].mean(axis=0)
    if mechanism == RAW:
        margins = np.full(len(METRICS), SAME)
    else:
        margins = _REACH * table.std(axis=0, ddof=1) * math.sqrt(1 / runs + 1 / len(table))
    return Comparison(
        dict(zip(METRICS, means.tolist(), strict=True)), dict(zip(METRICS, margins.tolist(), strict=True))
    )


def _read(text: str) -> Floats:
    rows = [[int(number) for number in line.split()] for line in text.strip().splitlines()]
    return np.array(rows) / _SCALE


_LISTED: dict[tuple[object, ...], str] = {
    ("adult", RAW): """
        8180 8289 3755 4362 1972 -201
        8113 8216 3707 4397 2149 -106
        8122 8214 3841 4145 2467  -66
        8095 8204 3643 4476 2248  -17
        8236 8331 3584 4546 2020  -29
        8198 8287 3808 4217 2244  -91
        8181 8274 3656 4414 2077 -106
        8111 8224 3634 4538 1849 -178
        8174 8274 3645 4444 2270  -31
        8170 8270 3691 4414 2267  -35
    """,
    ("acs", RAW): """
        8395 4754 4717 1034 5313 -1662
        8443 4813 4650  927 5321 -1661
        8441 4842 4560 1006 5149 -1654
        8437 4858 4684 1004 5131 -1726
        8429 4798 4585  998 5161 -1689
        8454 4920 4743  996 5203 -1674
        8456 4851 4686  931 5272 -1672
        8422 4777 4625 1002 5240 -1649
        8417 4781 4621 1031 5140 -1699
        8425 4766 4692  938 5507 -1566
    """,
    ("lsac", RAW): """
        9464 9723 1534 8458 1030 2015
        9462 9722 1039 8955  926 2361
        9435 9708 1363 8629 1125 2220
        9432 9706 1749 8239 1580 2572
        9420 9700 2042 7947 1652 2302
        9464 9723 1287 8704 1001 2266
        9435 9708 1470 8522 1163 1997
        9422 9701 1633 8357 1473 2445
        9440 9710 1587 8405 1377 2885
        9418 9699 1778 8214 1714 2530
    """,
    ("adult", "GRR", 0.25, "uniform"): """
        8079 8181 3467 4656 1768 -169
        8002 8120 3335 4905 1768  -59
        8008 8125 3654 4474 2174 -103
        7999 8097 3319 4811 1861  -93
        8113 8213 3360 4815 1786  -63
        8039 8152 3375 4836 1678 -125
        8063 8134 3366 4650 1820 -165
        8017 8130 3393 4813 1526 -254
        8068 8170 3282 4896 1853  -58
        8036 8141 3437 4721 2249  128
        8091 8218 3344 4940 1826  -14
        8112 8203 3318 4835 1891   25
        8063 8152 3276 4836 1650 -215
        8017 8137 3267 4995 1698  -40
        8022 8139 3367 4849 1705 -126
        8032 8090 3225 4774 1854  -48
        8056 8174 3217 5045 1819   46
        8083 8190 3131 5123 1373 -272
        8048 8163 3435 4776 2030  -36
        8011 8136 3182 5116 1713  -46
    """,
    ("acs", "GRR", 1.0, "uniform"): """
        8155 3009 1392 2973 1003 -2721
        8163 2828 1170 3144  774 -2923
        8136 2941 1218 3339  500 -3047
        8156 2851 1411 2710 1035 -2981
        8171 3019 1265 3156  710 -2890
        8132 2983 1206 3459  687 -2869
        8089 2746  947 4048  399 -2952
        8126 2841 1317 3044  866 -2981
        8109 2919 1074 3826  619 -2736
        8080 2865 1155 3674  735 -2766
        8156 3079 1237 3382  594 -2855
        8147 3162 1223 3572  769 -2666
        8141 3003 1329 3166  867 -2797
        8161 2937 1239 3176  835 -2844
        8102 3093 1087 4039  564 -2734
        8085 2942 1006 4162  355 -2890
        8098 3075 1330 3473  744 -2725
        8095 2992 1121 3862  411 -2972
        8137 2885 1234 3241  672 -2941
        8141 3208 1404 3263  922 -2639
    """,
    ("lsac", "GRR", 1.0, "uniform"): """
        9410 9695  768 9222  566 2049
        9447 9715  890 9104  852 2394
        9444 9713  794 9200  550 1894
        9420 9700 1048 8943  982 2345
        9420 9700 1033 8957  795 1958
        9442 9712  541 9452  257 1871
        9435 9708 1322 8668  993 1869
        9442 9712  555 9440  424 1881
        9425 9703  983 9010  823 2691
        9440 9710  706 9287  506 1654
        9410 9695  787 9202  514 1560
        9427 9704  660 9334  507 1836
        9425 9703  734 9260  644 2210
        9427 9703 1484 8503  945 2056
        9459 9721  465 9533  206 1648
        9413 9696 1004 8985  635 1694
        9442 9712  830 9165  727 2067
        9437 9709 1503 8488 1304 2629
        9386 9682  711 9278  443 1735
        9413 9696 1039 8950  844 1970
    """,
}
