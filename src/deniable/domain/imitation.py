"""Refuses texts of operators that imitate what a survey page says itself: that a guarantee was verified.

Letters are compared as people see them. Case, accents, spaces and signs do not count, and letters of other
scripts that look like Latin ones are taken for these; so are digits. A small l is taken for an i.
"""

from __future__ import annotations

import unicodedata

from deniable.errors import InvalidParameter

ALIKE = {
    "a": "аɑαᴀ4@",
    "b": "вʙƅьβ",
    "c": "сᴄ¢",
    "d": "ԁɗᴅđ",
    "e": "еєεᴇҽ3€",
    "f": "ғƒϝ",
    "g": "ɡɢց9",
    "h": "нһհʜħ",
    "i": "іιıɩɪlӏ1|!łʟ",
    "j": "јϳᴊ",
    "k": "кκᴋ",
    "m": "мᴍ",
    "n": "ηոɴпи",
    "o": "оοօᴏ0øσө",
    "p": "рρᴘ",
    "q": "ԛզ",
    "r": "гʀ",
    "s": "ѕꜱ5$ƽ",
    "t": "тτᴛ7ŧ",
    "u": "υսᴜцʋ",
    "v": "νѵᴠ",
    "w": "ԝωᴡшա",
    "x": "хχ×",
    "y": "уγʏүч",
    "z": "ᴢ2ʐ",
}
"""Characters that look like a Latin letter, by that letter."""

PHRASES = (
    "verified on this device",
    "verified on your device",
    "verified by your device",
    "verified by deniable",
    "verified by this device",
    "checked on this device",
    "checked on your device",
    "protects your answers well",
    "protects your answers a little",
    "hardly protects your answers",
    "auf diesem Gerät geprüft",
    "auf Ihrem Gerät geprüft",
    "von Ihrem Gerät geprüft",
    "auf diesem Gerät verifiziert",
    "von Deniable geprüft",
    "geprüft auf diesem Gerät",
    "geprüft auf Ihrem Gerät",
    "schützt Ihre Antworten gut",
    "schützt Ihre Antworten ein wenig",
    "schützt Ihre Antworten kaum",
    "vérifié sur cet appareil",
    "vérifié sur votre appareil",
    "vérifié par votre appareil",
    "vérifié par Deniable",
    "protège bien vos réponses",
    "protège un peu vos réponses",
    "ne protège guère vos réponses",
    "verificado en este dispositivo",
    "verificado en su dispositivo",
    "verificado por su dispositivo",
    "comprobado en este dispositivo",
    "verificado por Deniable",
    "protege bien sus respuestas",
    "protege un poco sus respuestas",
    "apenas protege sus respuestas",
    "verificado por Deniable",
    "verificado neste dispositivo",
    "verificado no seu dispositivo",
    "verificado neste aparelho",
    "verificado no seu aparelho",
    "verificado pelo seu dispositivo",
    "verificado pelo seu aparelho",
    "protege bem as suas respostas",
    "protege um pouco as suas respostas",
    "quase não protege as suas respostas",
)
"""What the box of a survey page begins with, in its languages, and what would be taken for that."""

_LETTERS = {ord(sign): letter for letter, signs in ALIKE.items() for sign in signs} | {ord("ß"): "ss"}
_PLAIN = frozenset("abcdefghijkmnopqrstuvwxyz")


def skeleton(text: str) -> str:
    """The Latin letters that a person sees in a text, and nothing else.

    >>> skeleton("V\u0435rified  on-this D\u00e9vice!") == skeleton("verified on this device")
    True
    """
    if text.isascii():
        seen = text.lower().translate(_LETTERS)
    else:
        seen = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).lower()).translate(_LETTERS)
    return "".join(filter(_PLAIN.__contains__, seen))


_FORBIDDEN = tuple(map(skeleton, PHRASES))
_SHORTEST = min(map(len, _FORBIDDEN))


def refuse_imitation(text: str, what: str) -> None:
    """Refuse a text that says what only the survey page itself says."""
    if len(text) < _SHORTEST:
        return
    seen = skeleton(text)
    for phrase, forbidden in zip(PHRASES, _FORBIDDEN, strict=True):
        if forbidden in seen:
            raise InvalidParameter(
                f"{what} imitates what the survey page says of its own check ({phrase!r}); leave that to the "
                "page, and say it otherwise",
                "text",
            )
