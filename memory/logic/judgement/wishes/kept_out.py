"""Find what a person says and asks not to keep: "Don't store this: I earn 90k", "I have diabetes, but don't save that"."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory.logic.judgement.clauses import names_speaker


# A line or two for each language. They are imperatives: "I don't remember names" is none.
_NOT_TO_KEEP: Final = re.compile(
    r"(?:^|[,;:.!–—-]\s*|\b(?:but|and|so|please|just)\s+)(?:please\s+)?(?:don['’]?t|do not|never)\s+"
    r"(?:remember|store|save|record|memori[sz]e|note|(?:keep|write|put) (?:this|that|it|any))\b"
    r"|\boff the record\b|\bwithout (?:storing|saving|remembering) (?:this|that|it)\b"
    r"|\b(?:this|that|it) (?:should|must)(?: not|n't) be (?:stored|saved|remembered|kept)\b"
    r"|(?:^|[,;:]\s*|\b(?:bitte|aber|und)\s+)(?:bitte\s+)?(?:(?:das|dies|es)\s+)?(?:bitte\s+)?nicht (?:merken|speichern|behalten|notieren)\b"
    r"|(?<!ich )\b(?:merke?|speicher[en]?|behalte?|notiere?|schreibe?)\b(?!\s+ich)(?:\s+\w+){0,4}\s+nicht\b"
    r"|(?<!je )\b(?:ne |n')(?:l'|l[ea]s? |te |m')?(?:retien[st]|retenez|garde[sz]?|enregistre[sz]?|mémorise[sz]?|sauvegarde[sz]?|note[sz]?)"
    r"\b(?:\s+\w+){0,2}\s*(?:pas|rien)\b"
    r"|\bno (?:l[oa]s? |me |te )?(?:guardes?|recuerdes?|memorices?|almacenes?|registres?|anotes?|apuntes?)\b"
    r"|\bnão (?:[oa] |te )?(?:guardes?|memorizes?|lembres?|salves?|regist?r?es?|anotes?|armazenes?)\b"
    r"|\bnon (?:l[oa] |ti )?(?:salvar|ricordar|memorizzar|registrar|conservar|annotar)(?:e|l[oaei])\b"
    r"|\b(?:niet|nooit) (?:opslaan|onthouden|bewaren|noteren)\b|(?<!ik )\b(?:sla|onthoud?|bewaar|noteer)\b(?:\s+\w+){0,3}\s+niet\b"
    r"|\bnie (?:zapamiętuj|zapisuj|zachowuj|przechowuj|notuj)(?:cie)?\b"
    r"|\bне (?:запоминай|сохраняй|записывай|храни)(?:те)?\b"
    r"|\b(?:kaydetme|hatırlama|saklama|aklında tutma|not (?:etme|alma))(?:y[iı]n(?:[iı]z)?)?\b"
    r"|لا ت(?:حفظ|تذكر|سجل|خزن|دون)|(?:อย่า|ไม่ต้อง|ห้าม)(?:จำ|บันทึก|เก็บ|จด)"
    r"|(?:不要|别|別|不用|请勿|請勿)(?:再)?(?:把\S{1,6})?(?:记|記|存|保存|储存|儲存)"
    r"|(?:保存|記憶|記録|メモ)しない(?:で|よう)|覚え(?:ないで|なくて)|(?:저장|기억|기록|메모)(?:은|을|를)? ?하지 ?(?:마|말)",
    re.IGNORECASE,
)
# It concerns what comes next, or what was said before.
_NEXT: Final = re.compile(
    r"[:：]\s*$|\b(?:following|about to|going to|folgende\w*|suivant\w*|ce qui suit|siguiente\w*|seguinte\w*|seguent\w*|volgende|"
    r"następn\w*|następuj\w*|следующ\w*|aşağıda\w*|söyleyeceğ\w*)\b|التالي|ما سأقول|ต่อไปนี้|以下|接下[来來]|下面|次の|これから|다음|지금부터",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(
    r"\b(?:that|last|das|letzte\w*|ça|cela|dernière?|eso|últim\w+|isso|quello|ultim\w+|dat|laatste|tamto|ostatni\w*|то|последн\w+|onu|şunu|son)\b"
    r"|ذلك|آخر|نั้น|ล่าสุด|那|刚才|剛才|それ|さっき|最後|방금|그거|그건|마지막",
    re.IGNORECASE,
)
MIN_VAGUE: Final = 0.5  # probability that a wish means "this" or "that", and no topic
MIN_LATEST: Final = 0.7  # … of a sentence that is a wish as a whole
MIN_SURELY_VAGUE: Final = 0.9  # … of one with another word than those for keeping
MIN_TOPIC: Final = 0.5


@dataclass(frozen=True, slots=True)
class Sentence:
    """It says of a sentence whether it states facts, asks to forget something and, by its parts, both at once.

    ``vagueness`` is the probability that a wish in it means no topic; ``topic`` is the probable one, if any.
    """

    text: str
    states: bool
    is_wish: bool
    has_both: bool
    vagueness: float
    topic: int | None


def asks_not_to_keep(text: str) -> bool:
    """Return whether the text has a word for keeping in a form that asks not to."""
    return _NOT_TO_KEEP.search(text) is not None


def announces_what_not_to_keep(text: str) -> bool:
    """Return whether the text says after a colon what isn't to be kept."""
    introduction, colon, rest = text.replace("：", ":").partition(":")
    return bool(colon and rest.strip()) and asks_not_to_keep(introduction)


def find_kept_out(sentences: Sequence[Sentence]) -> Mapping[int, bool]:
    """Return the numbers of the sentences that aren't to be kept; True says that one is only a wish that is met by it."""
    kept_out: dict[int, bool] = {}
    for number, sentence in enumerate(sentences):
        if sentence.has_both:
            kept_out[number] = False
            continue
        is_sure = asks_not_to_keep(sentence.text)
        if not (sentence.is_wish or (is_sure and sentence.vagueness >= MIN_VAGUE)):
            continue
        numbers = _list_meant(sentences, number, is_sure=is_sure)
        kept_out |= dict.fromkeys(numbers, False)
        if numbers and (sentence.topic is None or sentence.vagueness >= MIN_VAGUE):
            kept_out[number] = True
    return kept_out


def _list_meant(sentences: Sequence[Sentence], number: int, *, is_sure: bool) -> list[int]:
    """Return the other sentences of the message that a wish by itself means."""
    wish = sentences[number]
    before = [n for n in range(number) if sentences[n].states]
    after = [n for n in range(number + 1, len(sentences)) if sentences[n].states]
    if wish.vagueness < MIN_VAGUE:
        is_named = is_sure and wish.topic is not None
        return [n for n in (*before, *after) if is_named and sentences[n].topic == wish.topic]
    if not is_sure and wish.vagueness < MIN_SURELY_VAGUE:
        return []
    is_about_next = _NEXT.search(wish.text) is not None
    if before and not is_about_next:
        return before
    return after if is_about_next or (is_sure and not _BEFORE.search(wish.text)) else []


def leave_out(sentences: Sequence[str], is_statement: Callable[[str], bool]) -> list[str]:
    """Return the sentences that may be kept, without an encoder: the words decide."""
    described = [
        Sentence(
            text,
            states=is_statement(text) and not asks_not_to_keep(text),
            is_wish=False,
            has_both=asks_not_to_keep(text) and names_speaker(_NOT_TO_KEEP.sub(" ", text)),
            vagueness=1.0,
            topic=None,
        )
        for text in sentences
    ]
    kept_out = find_kept_out(described)
    return [text for number, text in enumerate(sentences) if number not in kept_out]
