"""Knowledge bases that a node names: namespaces of the scope global, whoever runs the workflow."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from memory.core.errors import InvalidInput
from memory.core.scopes import Scope, parse_namespace


TEAM_KNOWLEDGE: Final = "global:default"  # exists even before its first page
MAX_TITLES: Final = 20  # that tell a model what a knowledge base is about


@dataclass(frozen=True, slots=True)
class NamedKnowledgeBase:
    """A knowledge base as a node names it. Its description and the ``titles`` of some pages tell what it is about."""

    namespace: str
    name: str
    titles: tuple[str, ...] = ()
    exists: bool = True
    description: str = ""


def parse_knowledge_bases(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the namespaces without repetitions. Raise InvalidInput for one that is no knowledge base of a team."""
    namespaces = []
    for text in texts:
        parsed = parse_namespace(text)
        if parsed.scope != Scope.GLOBAL:
            raise InvalidInput(f"knowledge_bases: {text[:100]!r} is not a namespace of the team.")
        namespaces.append(parsed.text)
    return tuple(dict.fromkeys(namespaces))


def get_plain_name(namespace: str) -> str:
    """Return the part of a namespace that names it, for knowledge bases that have no other name."""
    return str(parse_namespace(namespace).ids[0])
