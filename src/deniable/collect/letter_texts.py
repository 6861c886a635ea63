"""Holds the usual text of a letter in the languages of the survey page."""

from __future__ import annotations

from typing import NamedTuple

LANGUAGES = ("en", "de", "fr", "es", "pt")


class LetterText(NamedTuple):
    """How a letter begins, what it says about the code, and about when to answer."""

    salutation: str
    invited: str
    text: str
    again: str
    """Where a plan is asked in several rounds: what the device keeps is in one browser."""
    round: str
    until: str
    opening: str
    """A time from which and a time until which a round is open."""
    opens: str
    moment: str
    """How a time is written, for strftime."""


TEXTS = {
    "en": LetterText(
        "Dear {},",
        "You are invited to answer a few questions",
        """\
Your device changes answers at random before anything is sent. The page shows you beforehand how much a \
report gives away about you.

Scan the pattern below with your phone. Or open {survey} and type this code:

{code}

It is yours alone, and works once. Please do not pass it on.
""",
        "You are asked in several rounds, with a letter for each. "
        "Please use the same phone and the same browser each time: "
        "what protects your answers over time is kept there.",
        "round {round} of {rounds}",
        "open until {closes}",
        "open from {opens} until {closes}",
        "open from {opens}",
        "%B %d, %Y, %H:%M %Z",
    ),
    "de": LetterText(
        "Guten Tag {},",
        "Sie sind eingeladen, einige Fragen zu beantworten",
        """\
Ihr Gerät verändert Antworten zufällig, bevor etwas gesendet wird. Die Seite zeigt Ihnen vorher, wie viel \
ein Bericht über Sie verrät.

Scannen Sie das Muster unten mit Ihrem Telefon. Oder öffnen Sie {survey} und tippen Sie diesen Code ein:

{code}

Er gehört nur Ihnen und gilt einmal. Bitte geben Sie ihn nicht weiter.
""",
        "Sie werden in mehreren Runden gefragt, jedes Mal mit einem Brief. "
        "Bitte nehmen Sie jedes Mal dasselbe Telefon und "
        "denselben Browser: Was Ihre Antworten auf Dauer schützt, ist dort gespeichert.",
        "Runde {round} von {rounds}",
        "offen bis {closes}",
        "offen von {opens} bis {closes}",
        "offen ab {opens}",
        "%d.%m.%Y, %H:%M Uhr (%Z)",
    ),
    "fr": LetterText(
        "Bonjour {},",
        "Vous êtes invité(e) à répondre à quelques questions",
        """\
Votre appareil modifie des réponses au hasard avant tout envoi. La page vous montre auparavant ce qu'un \
rapport révèle de vous.

Scannez le motif ci-dessous avec votre téléphone. Ou ouvrez {survey} et saisissez ce code\N{NO-BREAK SPACE}:

{code}

Il est personnel et ne sert que pour une réponse. Merci de ne pas le transmettre.
""",
        "Vous êtes interrogé(e) en plusieurs vagues, avec une lettre pour chacune. "
        "Merci d'utiliser chaque fois le même téléphone "
        "et le même navigateur\N{NO-BREAK SPACE}: ce qui protège vos réponses dans la durée y est conservé.",
        "vague {round} sur {rounds}",
        "ouverte jusqu'au {closes}",
        "ouverte du {opens} au {closes}",
        "ouverte à partir du {opens}",
        "%d/%m/%Y à %H:%M (%Z)",
    ),
    "es": LetterText(
        "Buenos días, {}:",
        "Le invitamos a responder a unas preguntas",
        """\
Su dispositivo modifica respuestas al azar antes de enviar nada. La página le muestra antes cuánto revela \
sobre usted un informe.

Escanee el dibujo de abajo con su teléfono. O abra {survey} e introduzca este código:

{code}

Es solo suyo y sirve una vez. Por favor, no lo comparta.
""",
        "Le preguntamos en varias rondas, con una carta para cada una. "
        "Por favor, use siempre el mismo teléfono y el mismo navegador: "
        "ahí se guarda lo que protege sus respuestas con el tiempo.",
        "ronda {round} de {rounds}",
        "abierta hasta el {closes}",
        "abierta del {opens} al {closes}",
        "abierta desde el {opens}",
        "%d/%m/%Y, %H:%M (%Z)",
    ),
    "pt": LetterText(
        "Olá, {},",
        "Convidamos você a responder a algumas perguntas",
        """\
O seu aparelho altera respostas ao acaso antes de enviar algo. A página mostra antes quanto um relatório \
revela sobre você.

Leia o desenho abaixo com o seu telefone. Ou abra {survey} e digite este código:

{code}

Ele é só seu e vale uma vez. Por favor, não o passe adiante.
""",
        "Perguntamos em várias rodadas, com uma carta para cada uma. "
        "Por favor, use sempre o mesmo telefone e o mesmo navegador: "
        "o que protege as suas respostas ao longo do tempo fica guardado ali.",
        "rodada {round} de {rounds}",
        "aberta até {closes}",
        "aberta de {opens} até {closes}",
        "aberta a partir de {opens}",
        "%d/%m/%Y, %H:%M (%Z)",
    ),
}
