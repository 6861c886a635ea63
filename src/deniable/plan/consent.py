"""Writes a consent from a plan: what is sent, and what it gives away, in the languages of the pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameter
from deniable.plan.texts import Texts

if TYPE_CHECKING:
    from deniable.plan.plan import Plan

_HEADER = 29  # bytes of a report before its body (spec/wire.md, 1)
_SIGNS = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ","), "es": (".", ","), "pt": (".", ",")}
"""Between thousands, and before decimals."""
_ENOUGH = 1_000_000  # times likelier: beyond that no number helps

_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "start": "I take part of my own free will.",
        "all": "My device randomizes my answers. Only the random report is sent: at most {bytes} bytes, in which no "
        "answer is certain.",
        "some": "My device randomizes my answers and draws which of them are reported. Only the random report "
        "is sent: at most {bytes} bytes, in which no answer is certain.",
        "loss": "Whatever I answer, the report is at most {times} times likelier from me than from {other}.",
        "metric": "The report hides my answer among answers near it. In the worst case it is at most {times} "
        "times likelier from me than from {other}.",
        "plain": "The report hides my answer among answers near it. It can rule out answers far from mine.",
        "again": "I may be asked in {rounds} rounds. If my answers do not change, all reports together are at "
        "most {times} times likelier from me than from {other}.",
        "other": "anyone else",
        "member": "anyone else of the same group",
        "known": "What those who invite me know anyway is sent as it is: {names}. It is not randomized.",
        "end": "A report that was sent cannot be taken back, because nobody can tell which one is mine.",
    },
    "de": {
        "start": "Ich nehme freiwillig teil.",
        "all": "Mein Gerät verändert meine Antworten zufällig. Nur der zufällige Bericht wird gesendet: höchstens {bytes} "
        "Bytes, in denen keine Antwort sicher ist.",
        "some": "Mein Gerät verändert meine Antworten zufällig und lost aus, welche davon berichtet werden. Nur "
        "der zufällige Bericht wird gesendet: höchstens {bytes} Bytes, in denen keine Antwort sicher ist.",
        "loss": "Was ich auch antworte: Der Bericht stammt höchstens {times}-mal so wahrscheinlich von mir wie "
        "von {other}.",
        "metric": "Der Bericht verbirgt meine Antwort unter ähnlichen Antworten. Im schlimmsten Fall stammt er "
        "höchstens {times}-mal so wahrscheinlich von mir wie von {other}.",
        "plain": "Der Bericht verbirgt meine Antwort unter ähnlichen Antworten. Er kann Antworten ausschließen, "
        "die weit von meiner entfernt sind.",
        "again": "Ich kann in {rounds} Runden gefragt werden. Wenn sich meine Antworten nicht ändern, stammen "
        "alle Berichte zusammen höchstens {times}-mal so wahrscheinlich von mir wie von {other}.",
        "other": "irgendjemand anderem",
        "member": "irgendjemand anderem derselben Gruppe",
        "known": "Was die Einladenden ohnehin wissen, wird so gesendet, wie es ist: {names}. Es wird nicht "
        "verändert.",
        "end": "Ein gesendeter Bericht kann nicht zurückgenommen werden, weil niemand weiß, welcher meiner ist.",
    },
    "fr": {
        "start": "Je participe de mon plein gré.",
        "all": "Mon appareil modifie mes réponses au hasard. Seul le rapport aléatoire est envoyé : au plus {bytes} "
        "octets, dans lesquels aucune réponse n’est certaine.",
        "some": "Mon appareil modifie mes réponses au hasard et tire au sort celles qui sont rapportées. Seul "
        "le rapport aléatoire est envoyé : au plus {bytes} octets, dans lesquels aucune réponse n’est certaine.",
        "loss": "Quoi que je réponde, le rapport est au plus {times} fois plus probable venant de moi que de "
        "{other}.",
        "metric": "Le rapport cache ma réponse parmi les réponses proches. Dans le pire des cas, il est au plus "
        "{times} fois plus probable venant de moi que de {other}.",
        "plain": "Le rapport cache ma réponse parmi les réponses proches. Il peut exclure des réponses "
        "éloignées de la mienne.",
        "again": "Je peux être interrogé·e lors de {rounds} vagues. Si mes réponses ne changent pas, tous les "
        "rapports ensemble sont au plus {times} fois plus probables venant de moi que de {other}.",
        "other": "n’importe qui d’autre",
        "member": "n’importe qui d’autre du même groupe",
        "known": "Ce que savent déjà les personnes qui m’invitent est envoyé tel quel : {names}. Ce n’est pas "
        "modifié.",
        "end": "Un rapport envoyé ne peut pas être repris, car personne ne sait lequel est le mien.",
    },
    "es": {
        "start": "Participo por voluntad propia.",
        "all": "Mi dispositivo modifica mis respuestas al azar. Solo se envía el informe aleatorio: como máximo {bytes} "
        "bytes, en los que ninguna respuesta es segura.",
        "some": "Mi dispositivo modifica mis respuestas al azar y sortea cuáles se incluyen. Solo se envía el "
        "informe aleatorio: como máximo {bytes} bytes, en los que ninguna respuesta es segura.",
        "loss": "Responda lo que responda, el informe es como máximo {times} veces más probable viniendo de mí "
        "que de {other}.",
        "metric": "El informe oculta mi respuesta entre las respuestas cercanas. En el peor caso es como máximo "
        "{times} veces más probable viniendo de mí que de {other}.",
        "plain": "El informe oculta mi respuesta entre las respuestas cercanas. Puede descartar respuestas "
        "lejanas a la mía.",
        "again": "Me pueden preguntar en {rounds} rondas. Si mis respuestas no cambian, todos los informes "
        "juntos son como máximo {times} veces más probables viniendo de mí que de {other}.",
        "other": "cualquier otra persona",
        "member": "cualquier otra persona del mismo grupo",
        "known": "Lo que ya saben quienes me invitan se envía tal cual: {names}. No se modifica.",
        "end": "Un informe enviado no se puede retirar, porque nadie sabe cuál es el mío.",
    },
    "pt": {
        "start": "Participo de livre vontade.",
        "all": "O meu dispositivo altera as minhas respostas ao acaso. Só o relatório aleatório é enviado: "
        "no máximo {bytes} bytes, nos quais nenhuma resposta é certa.",
        "some": "O meu dispositivo altera as minhas respostas ao acaso e sorteia quais são incluídas. Só o "
        "relatório aleatório é enviado: no máximo {bytes} bytes, nos quais nenhuma resposta é certa.",
        "loss": "Seja qual for a minha resposta, o relatório é no máximo {times} vezes mais provável vindo de "
        "mim do que de {other}.",
        "metric": "O relatório esconde a minha resposta entre respostas próximas. No pior caso, é no máximo "
        "{times} vezes mais provável vindo de mim do que de {other}.",
        "plain": "O relatório esconde a minha resposta entre respostas próximas. Pode excluir respostas "
        "distantes da minha.",
        "again": "Posso ser questionado em {rounds} rondas. Se as minhas respostas não mudarem, todos os "
        "relatórios juntos são no máximo {times} vezes mais prováveis vindo de mim do que de {other}.",
        "other": "qualquer outra pessoa",
        "member": "qualquer outra pessoa do mesmo grupo",
        "known": "O que quem me convida já sabe é enviado tal como é: {names}. Não é alterado.",
        "end": "Um relatório enviado não pode ser retirado, porque ninguém sabe qual é o meu.",
    },
}
LANGUAGES = tuple(_WORDS)


def generate_consent(plan: Plan, language: str = "en") -> str:
    """A consent to this plan, for people to tick."""
    words = _WORDS.get(language) or _WORDS.get(language.split("-")[0])
    if words is None:
        raise InvalidParameter(
            f"a consent is generated in {', '.join(LANGUAGES)}; write the one in {language!r} yourself"
        )
    loss, known = plan.verify(), plan.content.known
    parts = plan.mechanism.mechanisms
    is_sampled = any(plan.mechanism.chance(j) < 1 for j in range(len(parts)))
    lines = [
        words["start"],
        words["some" if is_sampled else "all"].format(bytes=_count_bytes(plan)),
    ]
    if known is not None:
        lines.append(words["known"].format(names=", ".join(known.names)))
    other, times = words["other" if known is None else "member"], _times(loss.record, language)
    if any(part.metric for part in parts):
        is_finite = math.exp(min(loss.record, 100)) < _ENOUGH
        lines.append(words["metric" if is_finite else "plain"].format(times=times, other=other))
    else:
        lines.append(words["loss"].format(times=times, other=other))
    if loss.repeated is not None:
        times = _times(loss.repeated.one_value_forever, language)
        lines.append(words["again"].format(rounds=plan.content.rounds, times=times, other=other))
    return "\n".join([*lines, words["end"]])


def complete_texts(texts: Texts, plan: Plan) -> Texts:
    """The texts with a consent that is generated, where that was asked for."""
    if texts.consent is not True:
        return texts
    return texts.with_consent({one: generate_consent(plan, one) for one in texts.languages})


def _count_bytes(plan: Plan) -> int:
    """How many bytes a report has at most, with its header."""
    return _HEADER + plan.mechanism.lengths[-1] + (plan.content.known is not None)


def _times(loss: float, language: str) -> str:
    """How many times likelier, rounded up to three digits and written as the language does."""
    if math.isinf(loss):
        raise InvalidParameter("reports of changing answers have no bound; write the consent yourself")
    times = math.exp(loss)
    digits = max(0, 2 - math.floor(math.log10(times)))
    unit = 10.0 ** (2 - math.floor(math.log10(times)))
    up = math.ceil(times * unit - 1e-9) / unit
    text = f"{up:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    thousands, decimal = _SIGNS[language.split("-")[0]]
    return text.translate({ord(","): thousands, ord("."): decimal})
