"""Prompt injections: instructions to the reader in text from a web page or a tool.

A stored instruction would be repeated in each prompt that recalls it. This filter for untrusted text is coarse: a false
alarm costs a member one review. The text of users is not filtered. The filter is no complete protection, so recalled
text is always quoted as data as well.
"""

import re
import unicodedata
from dataclasses import dataclass

from memory.logic.entries.instruction_rules import INSTRUCTION_RULES
from memory.logic.entries.instruction_sentences import find_in_sentences


_MAX_LENGTH = 200_000
# If a match ends within an address, the rest of it belongs to the excerpt. Only Latin letters are matched, because other
# scripts may have no spaces at the end of a word.
_REST_OF_WORD = re.compile(r"(?<=[a-z0-9/])[a-z0-9._/-]{0,80}[a-z0-9]")

# Invisible characters that can spell a hidden text.
_HIDDEN = re.compile("[\U000e0020-\U000e007f]|[\u200b\u200c\u200d\u2060]{4}")

_SPACED_OUT = re.compile(r"\b(?:[A-Za-z] ){4,40}[A-Za-z]\b")


@dataclass(frozen=True, slots=True)
class Instruction:
    """The name of a rule, which pages translate, and the words that it matched; both are stored with the entry."""

    rule: str
    excerpt: str


def find_instructions(text: str) -> tuple[Instruction, ...]:
    """Return the first match of each rule, in the order of the table."""
    plain = _normalize_text(text[:_MAX_LENGTH])
    instructions = [] if _HIDDEN.search(text) is None else [Instruction("hidden characters", "")]
    for rule, pattern in INSTRUCTION_RULES:
        match = pattern.search(plain)
        if match:
            rest = _REST_OF_WORD.match(plain, match.end())
            excerpt = plain[match.start() : rest.end() if rest else match.end()]
            instructions.append(_build_instruction(rule, excerpt))
    seen_rules = {instruction.rule for instruction in instructions}
    instructions += (
        _build_instruction(match.rule, match.text)
        for match in find_in_sentences(plain)
        if match.rule not in seen_rules
    )
    return tuple(instructions)


def _build_instruction(rule: str, excerpt: str) -> Instruction:
    return Instruction(rule, " ".join(excerpt.split())[:120])


def _normalize_text(text: str) -> str:
    """Normalize the text as a model reads it: no invisible characters, spaced-out letters joined."""
    folded = unicodedata.normalize("NFKC", text)
    visible = "".join(character for character in folded if unicodedata.category(character) != "Cf")
    joined = _SPACED_OUT.sub(lambda match: match[0].replace(" ", ""), visible)
    return joined.casefold().replace("’", "'")
