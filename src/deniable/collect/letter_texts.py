"""Holds the usual text of a letter in the languages of the survey page."""

from __future__ import annotations

from typing import NamedTuple

LANGUAGES = ("en", "de", "fr", "es", "pt")


class LetterText(NamedTuple):
    """How a letter begins, and what it says about the code."""

    invited: str
    text: str


TEXTS = {
    "en": LetterText(
        "You are invited to answer a few questions",
        """\
Your device randomizes your answers before anything is sent. No single answer can be held against you.

Scan the code with your phone. Or open {survey} and enter this code:

{code}

It is yours alone, and works once. Please do not pass it on.
""",
    ),
    "de": LetterText(
        "Sie sind eingeladen, einige Fragen zu beantworten",
        """\
Ihr Gerät verändert Ihre Antworten zufällig, bevor etwas gesendet wird. Keine einzelne Antwort kann Ihnen \
vorgehalten werden.

Scannen Sie den Code mit Ihrem Telefon. Oder öffnen Sie {survey} und geben Sie diesen Code ein:

{code}

Er gehört nur Ihnen und gilt einmal. Bitte geben Sie ihn nicht weiter.
""",
    ),
    "fr": LetterText(
        "Vous êtes invité(e) à répondre à quelques questions",
        """\
Votre appareil modifie vos réponses au hasard avant tout envoi. Aucune réponse ne peut \
être retenue contre vous.

Scannez le code avec votre téléphone. Ou ouvrez {survey} et saisissez ce code :

{code}

Il est personnel et ne sert que pour une réponse. Merci de ne pas le transmettre.
""",
    ),
    "es": LetterText(
        "Le invitamos a responder a unas preguntas",
        """\
Su dispositivo modifica sus respuestas al azar antes de enviar nada. Ninguna respuesta puede \
usarse en su contra.

Escanee el código con su teléfono. O abra {survey} e introduzca este código:

{code}

Es solo suyo y sirve una vez. Por favor, no lo comparta.
""",
    ),
    "pt": LetterText(
        "Convidamos você a responder a algumas perguntas",
        """\
O seu aparelho altera as respostas ao acaso antes de enviar algo. Nenhuma resposta pode ser usada contra você.

Leia o código com o seu telefone. Ou abra {survey} e digite este código:

{code}

Ele é só seu e vale uma vez. Por favor, não o passe adiante.
""",
    ),
}
