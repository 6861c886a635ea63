"""Refuses texts of operators that imitate what a survey page says itself: that a guarantee was verified.

Letters are compared as people see them. Case, accents, spaces and signs do not count, and letters of other
scripts that look like Latin ones are taken for these; so are digits. A small l is taken for an i.
"""

from __future__ import annotations

import re
import unicodedata

from deniable.errors import InvalidParameter

ALIKE = {
    "a": "аɑαᴀ4@ꓮᎪ",
    "b": "вʙƅьβꓐᏴ",
    "c": "сᴄ¢ꓚᏟ",
    "d": "ԁɗᴅđꓓᎠ",
    "e": "еєεᴇҽ3€ꓰᎬ",
    "f": "ғƒϝꓝ",
    "g": "ɡɢց9ꓖᏀ",
    "h": "нһհʜħꓧᎻ",
    "i": "іιıɩɪlӏ1|!łʟꓲꓡᎥᏞ",
    "j": "јϳᴊꓙᎫ",
    "k": "кκᴋꓗᏦ",
    "m": "мᴍꓟᎷ",
    "n": "ηոɴпиꓠ",
    "o": "оοօᴏ0øσөꓳ",
    "p": "рρᴘꓑᏢ",
    "q": "ԛզ",
    "r": "гʀꓣᎡ",
    "s": "ѕꜱ5$ƽꓢᏚ",
    "t": "тτᴛ7ŧꓔᎢ",
    "u": "υսᴜцʋꓴ",
    "v": "νѵᴠꓦᏙ",
    "w": "ԝωᴡшաꓪᎳ",
    "x": "хχ×ꓫ",
    "y": "уγʏүчꓬ",
    "z": "ᴢ2ʐꓜᏃ",
}
"""Characters that look like a Latin letter, by that letter."""

_ALPHABETS = (0x1F150, 0x1F170, 0x1F1E6)
"""Where letters in black circles, in black squares and in flags begin, from A to Z."""
_PAIRS = (("rn", "m"), ("vv", "w"), ("ci", "d"))
"""Two letters that look like one; the last is c and l."""

FORMS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (
        ("verified", "confirmed", "certified", "proved", "proven"),
        ("", "locally"),
        ("on", "by"),
        ("this", "your"),
        ("device", "phone", "browser", "computer"),
    ),
    (("checked",), ("on", "by"), ("this", "your"), ("device",)),
    (
        (
            "verified by Deniable",
            "von Deniable geprüft",
            "geprüft von Deniable",
            "vérifié par Deniable",
            "verificado por Deniable",
        ),
    ),
    (("protects your answers",), ("well", "a little")),
    (("hardly protects your answers", "anyone who sees all your reports picks yours"),),
    (
        ("auf", "von"),
        ("diesem", "Ihrem", "deinem"),
        ("Gerät", "Telefon", "Handy", "Browser"),
        ("geprüft", "überprüft", "verifiziert", "bestätigt"),
    ),
    (
        ("geprüft", "überprüft", "verifiziert", "bestätigt"),
        ("auf", "von"),
        ("diesem", "Ihrem", "deinem"),
        ("Gerät", "Telefon", "Handy", "Browser"),
    ),
    (("schützt Ihre Antworten",), ("gut", "ein wenig", "kaum")),
    (("wählt jemand, der alle Ihre Berichte sieht",),),
    (
        ("vérifié", "vérifiée", "contrôlé", "contrôlée", "confirmé", "confirmée"),
        ("sur", "par"),
        (
            "cet appareil",
            "votre appareil",
            "ce téléphone",
            "votre téléphone",
            "ce navigateur",
            "votre navigateur",
        ),
    ),
    (("protège",), ("bien", "un peu", "guère"), ("vos réponses",)),
    (("une personne qui voit tous vos rapports choisit la vôtre",),),
    (
        ("verificado", "verificada", "comprobado", "comprobada", "confirmado", "confirmada"),
        ("en", "por"),
        ("este", "su", "tu"),
        ("dispositivo", "teléfono", "móvil", "navegador"),
    ),
    (
        (
            "protege bien sus respuestas",
            "protege un poco sus respuestas",
            "apenas protege sus respuestas",
            "quien ve todos sus informes elige la suya",
        ),
    ),
    (
        ("verificado", "verificada", "comprovado", "comprovada", "confirmado", "confirmada"),
        ("neste", "no seu", "no teu", "por este", "pelo seu"),
        ("dispositivo", "aparelho", "telemóvel", "telefone", "navegador"),
    ),
    (
        (
            "protege bem as suas respostas",
            "protege um pouco as suas respostas",
            "quase não protege as suas respostas",
            "quem vê todos os seus relatórios escolhe a sua",
        ),
    ),
)
"""What the box of a survey page says, in its languages, and what is taken for that: one word of each."""

_LETTERS = (
    {ord(sign.lower()): letter for letter, signs in ALIKE.items() for sign in signs}
    | {start + i: "i" if i == 11 else chr(ord("a") + i) for start in _ALPHABETS for i in range(26)}
    | {ord("ß"): "ss"}
)
_PLAIN = frozenset("abcdefghijkmnopqrstuvwxyz")


def skeleton(text: str) -> str:
    """The Latin letters that a person sees in a text, and nothing else.

    >>> skeleton("V\u0435rified  on-this D\u00e9vice") == skeleton("verified on this device")
    True
    """
    if text.isascii():
        seen = text.lower().translate(_LETTERS)
    else:
        seen = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).lower()).translate(_LETTERS)
    return "".join(filter(_PLAIN.__contains__, seen))


_FORBIDDEN = re.compile(
    "|".join("".join(f"(?:{'|'.join(map(skeleton, words))})" for words in form) for form in FORMS)
)
_SHORTEST = min(sum(min(map(len, words)) for words in form) for form in FORMS)


def refuse_imitation(text: str, what: str) -> None:
    """Refuse a text that says what only the survey page itself says."""
    if len(text) < _SHORTEST:
        return
    bare = "".join(sign for sign in text if sign.isalpha())  # where signs stand between words
    seen = paired = skeleton(text)
    for pair, letter in _PAIRS:
        paired = paired.replace(pair, letter)
    if any(map(_FORBIDDEN.search, (seen, paired, skeleton(bare)))):
        raise InvalidParameter(
            f"{what} imitates what the survey page says of its own check, such as 'Verified on this device'; "
            "leave that to the page, and say it otherwise",
            "text",
        )
