"""Writes a consent from a plan: what is sent, and what it gives away, in the languages of the pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameter
from deniable.plan.texts import Texts

if TYPE_CHECKING:
    from deniable.study.plan import Plan

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
        "again": "I may be asked in {rounds} rounds. All reports together are at most {times} times likelier from me "
        "than from {other}, even if my answers change; if they do not change, at most {unchanged} times.",
        "unbounded": "I may be asked in {rounds} rounds. If my answers change, there is no limit to what all reports "
        "together give away about me; if they do not change, the reports are at most {unchanged} times likelier from me "
        "than from {other}.",
        "endless": "I may be asked in {rounds} rounds. There is no useful limit to what all reports together give "
        "away about me.",
        "well": "This survey protects my answers well: of two answers that seemed equally likely, anyone who "
        "sees all my reports picks mine at most {n} times in 100.",
        "a little": "This survey protects my answers a little: of two answers that seemed equally likely, anyone who "
        "sees all my reports picks mine at most {n} times in 100.",
        "hardly": "This survey hardly protects my answers: of two answers that seemed equally likely, anyone who "
        "sees all my reports picks mine up to {n} times in 100.",
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
        "again": "Ich kann in {rounds} Runden gefragt werden. Alle Berichte zusammen stammen höchstens {times}-mal so "
        "wahrscheinlich von mir wie von {other}, auch wenn sich meine Antworten ändern; wenn sie sich nicht ändern, "
        "höchstens {unchanged}-mal.",
        "unbounded": "Ich kann in {rounds} Runden gefragt werden. Wenn sich meine Antworten ändern, gibt es keine Grenze "
        "für das, was alle Berichte zusammen über mich verraten; wenn sie sich nicht ändern, stammen die Berichte "
        "höchstens {unchanged}-mal so wahrscheinlich von mir wie von {other}.",
        "endless": "Ich kann in {rounds} Runden gefragt werden. Es gibt keine brauchbare Grenze für das, was alle "
        "Berichte zusammen über mich verraten.",
        "well": "Diese Umfrage schützt meine Antworten gut: Von zwei Antworten, die vorher gleich wahrscheinlich "
        "schienen, wählt jemand, der alle meine Berichte sieht, höchstens {n}-mal von 100 meine.",
        "a little": "Diese Umfrage schützt meine Antworten ein wenig: Von zwei Antworten, die vorher gleich "
        "wahrscheinlich schienen, wählt jemand, der alle meine Berichte sieht, höchstens {n}-mal von 100 "
        "meine.",
        "hardly": "Diese Umfrage schützt meine Antworten kaum: Von zwei Antworten, die vorher gleich "
        "wahrscheinlich schienen, wählt jemand, der alle meine Berichte sieht, bis zu {n}-mal von 100 "
        "meine.",
        "other": "irgendjemand anderem",
        "member": "irgendjemand anderem derselben Gruppe",
        "known": "Was die Einladenden ohnehin wissen, wird so gesendet, wie es ist: {names}. Es wird nicht "
        "verändert.",
        "end": "Ein gesendeter Bericht kann nicht zurückgenommen werden, weil niemand weiß, welcher meiner ist.",
    },
    "fr": {
        "start": "Je participe de mon plein gré.",
        "all": "Mon appareil modifie mes réponses au hasard. Seul le rapport aléatoire est envoyé\N{NO-BREAK SPACE}: au plus {bytes} "
        "octets, dans lesquels aucune réponse n’est certaine.",
        "some": "Mon appareil modifie mes réponses au hasard et tire au sort celles qui sont rapportées. Seul "
        "le rapport aléatoire est envoyé\N{NO-BREAK SPACE}: au plus {bytes} octets, dans lesquels aucune réponse n’est certaine.",
        "loss": "Quoi que je réponde, le rapport est au plus {times} fois plus probable venant de moi que de "
        "{other}.",
        "metric": "Le rapport cache ma réponse parmi les réponses proches. Dans le pire des cas, il est au plus "
        "{times} fois plus probable venant de moi que de {other}.",
        "plain": "Le rapport cache ma réponse parmi les réponses proches. Il peut exclure des réponses "
        "éloignées de la mienne.",
        "again": "Je peux être interrogé·e lors de {rounds} vagues. Tous les rapports ensemble sont au plus {times} fois "
        "plus probables venant de moi que de {other}, même si mes réponses changent\N{NO-BREAK SPACE}; si elles ne changent pas, au plus "
        "{unchanged} fois.",
        "unbounded": "Je peux être interrogé·e lors de {rounds} vagues. Si mes réponses changent, il n’y a pas de limite à "
        "ce que tous les rapports ensemble révèlent de moi\N{NO-BREAK SPACE}; si elles ne changent pas, ils sont au plus {unchanged} fois "
        "plus probables venant de moi que de {other}.",
        "endless": "Je peux être interrogé·e lors de {rounds} vagues. Il n’y a pas de limite utile à ce que tous "
        "les rapports ensemble révèlent de moi.",
        "well": "Cette enquête protège bien mes réponses\N{NO-BREAK SPACE}: entre deux réponses qui semblaient aussi probables, "
        "une personne qui voit tous mes rapports choisit la mienne au plus {n} fois sur 100.",
        "a little": "Cette enquête protège un peu mes réponses\N{NO-BREAK SPACE}: entre deux réponses qui semblaient aussi probables, "
        "une personne qui voit tous mes rapports choisit la mienne au plus {n} fois sur 100.",
        "hardly": "Cette enquête ne protège guère mes réponses\N{NO-BREAK SPACE}: entre deux réponses qui semblaient aussi "
        "probables, une personne qui voit tous mes rapports choisit la mienne jusqu’à {n} fois sur 100.",
        "other": "n’importe qui d’autre",
        "member": "n’importe qui d’autre du même groupe",
        "known": "Ce que savent déjà les personnes qui m’invitent est envoyé tel quel\N{NO-BREAK SPACE}: {names}. Ce n’est pas "
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
        "again": "Me pueden preguntar en {rounds} rondas. Todos los informes juntos son como máximo {times} veces más "
        "probables viniendo de mí que de {other}, aunque mis respuestas cambien; si no cambian, como máximo {unchanged} "
        "veces.",
        "unbounded": "Me pueden preguntar en {rounds} rondas. Si mis respuestas cambian, no hay límite para lo que todos "
        "los informes juntos revelan sobre mí; si no cambian, son como máximo {unchanged} veces más probables viniendo de "
        "mí que de {other}.",
        "endless": "Me pueden preguntar en {rounds} rondas. No hay un límite útil para lo que todos los informes "
        "juntos revelan sobre mí.",
        "well": "Esta encuesta protege bien mis respuestas: entre dos respuestas que parecían igual de "
        "probables, quien ve todos mis informes elige la mía como máximo {n} veces de cada 100.",
        "a little": "Esta encuesta protege un poco mis respuestas: entre dos respuestas que parecían igual de "
        "probables, quien ve todos mis informes elige la mía como máximo {n} veces de cada 100.",
        "hardly": "Esta encuesta apenas protege mis respuestas: entre dos respuestas que parecían igual de "
        "probables, quien ve todos mis informes elige la mía hasta {n} veces de cada 100.",
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
        "again": "Posso ser questionado em {rounds} rondas. Todos os relatórios juntos são no máximo {times} vezes mais "
        "prováveis vindo de mim do que de {other}, mesmo que as minhas respostas mudem; se não mudarem, no máximo "
        "{unchanged} vezes.",
        "unbounded": "Posso ser questionado em {rounds} rondas. Se as minhas respostas mudarem, não há limite para o que "
        "todos os relatórios juntos revelam sobre mim; se não mudarem, são no máximo {unchanged} vezes mais prováveis "
        "vindo de mim do que de {other}.",
        "endless": "Posso ser questionado em {rounds} rondas. Não há um limite útil para o que todos os relatórios "
        "juntos revelam sobre mim.",
        "well": "Este inquérito protege bem as minhas respostas: entre duas respostas que pareciam igualmente "
        "prováveis, quem vê todos os meus relatórios escolhe a minha no máximo {n} vezes em 100.",
        "a little": "Este inquérito protege um pouco as minhas respostas: entre duas respostas que pareciam "
        "igualmente prováveis, quem vê todos os meus relatórios escolhe a minha no máximo {n} vezes em "
        "100.",
        "hardly": "Este inquérito quase não protege as minhas respostas: entre duas respostas que pareciam "
        "igualmente prováveis, quem vê todos os meus relatórios escolhe a minha até {n} vezes em 100.",
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
        lines.append(words["metric" if _is_useful(loss.record) else "plain"].format(times=times, other=other))
    elif loss.repeated is None:
        lines.append(words["loss"].format(times=times, other=other))
    if loss.repeated is not None:
        lines.append(_consent_to_rounds(plan, words, other, language))
    lines.append(words[plan.protection.level].format(n=plan.protection.percent))
    return "\n".join([*lines, words["end"]])


def _consent_to_rounds(plan: Plan, words: Mapping[str, str], other: str, language: str) -> str:
    """What all rounds give away together, counting answers that change; and if none changes."""
    repeated = plan.loss.repeated
    assert repeated is not None
    rounds = plan.content.rounds
    if not _is_useful(repeated.same_value):
        return words["endless"].format(rounds=rounds)
    unchanged = _times(repeated.same_value, language)
    if not _is_useful(plan.loss.counted):
        return words["unbounded"].format(rounds=rounds, unchanged=unchanged, other=other)
    times = _times(plan.loss.counted, language)
    return words["again"].format(rounds=rounds, times=times, unchanged=unchanged, other=other)


def _is_useful(loss: float) -> bool:
    """Whether a person is told how many times likelier a report is."""
    return math.exp(min(loss, 100)) < _ENOUGH


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
    times = math.exp(loss)
    digits = max(0, 2 - math.floor(math.log10(times)))
    unit = 10.0 ** (2 - math.floor(math.log10(times)))
    up = math.ceil(times * unit - 1e-9) / unit
    text = f"{up:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    thousands, decimal = _SIGNS[language.split("-")[0]]
    return text.translate({ord(","): thousands, ord("."): decimal})
