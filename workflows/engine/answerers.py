"""Who may answer a question: the rows of a node's form, and the keys under which a question stores them.

A key is ``runner``, ``link``, ``user:ID``, ``group:ID``, ``role:NAME`` or ``email:ADDRESS``. A question without any may be
answered by the run's own people, and by anybody to whom they give its link.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal
from uuid import UUID

from pydantic import Field as Bounded

from workflows.engine.configuration import ConfigPart
from workflows.engine.language.document import Json
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.texts import gettext_noop


RUNNER: Final = "runner"
LINK: Final = "link"
MEMBER: Final = "user:"
GROUP: Final = "group:"
ROLE: Final = "role:"
EMAIL: Final = "email:"
DEFAULT: Final = (RUNNER, LINK)
MAX_ANSWERERS: Final = 50  # rows
# The fields of each kind of node that say who answers.
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "human-input": ("answerers", "escalate_to"),
    "agent": ("approvers",),
    "tool": ("approvers",),
}
# The type of a row → the prefix of its key, and what the row lacks while it has no value.
_PREFIXES: Final[Mapping[str, str]] = {
    "member": MEMBER,
    "group": GROUP,
    "role": ROLE,
    "email": EMAIL,
}
TYPES: Final = (
    ("runner", gettext_noop("Whoever runs it")),
    ("member", gettext_noop("A member")),
    ("group", gettext_noop("A group")),
    ("role", gettext_noop("A role")),
    ("link", gettext_noop("Anybody with the link")),
    ("email", gettext_noop("An email address")),
)


class Answerer(ConfigPart):
    """A row of *Who answers*. ``value`` is the id of a member or group, a role, or an email address."""

    type: Literal["runner", "member", "group", "role", "link", "email"] = "runner"
    value: str = Bounded(default="", max_length=200)

    @property
    def key(self) -> str:
        """Return the key of the row, or "" while it has no value."""
        prefix, value = _PREFIXES.get(self.type), self.value.strip()
        if prefix is None:
            return self.type
        return f"{prefix}{value}" if value else ""


def build_keys(answerers: Iterable[Answerer]) -> list[Json]:
    """Return the keys of the complete rows, each once."""
    return list(dict.fromkeys(answerer.key for answerer in answerers if answerer.key))


def find_incomplete_rows(
    answerers: Iterable[Answerer], node_id: str, field: str
) -> Iterator[Problem]:
    for index, answerer in enumerate(answerers):
        if not answerer.key:
            message = "Nobody is chosen in this row"
            yield build_warning("answerer.missing", message, node_id, f"{field}.{index}.value")
        elif answerer.type == "email" and "@" not in answerer.value:
            message = f"{answerer.value} is no email address"
            yield build_warning("answerer.no_address", message, node_id, f"{field}.{index}.value")


def admits_runner(keys: Iterable[str]) -> bool:
    """Return whether the run's own people may answer. They can get the link, so they may where anybody with it may."""
    return not {*DEFAULT}.isdisjoint([*keys] or DEFAULT)


def admits_link(keys: Iterable[str]) -> bool:
    return LINK in ([*keys] or DEFAULT)


def list_ids(keys: Iterable[str], prefix: str) -> list[UUID]:
    """Return the ids behind the prefix. What is no id is left out, since documents are written by hand, too."""
    ids = []
    for text in list_values(keys, prefix):
        try:
            ids.append(UUID(text))
        except ValueError:
            continue
    return ids


def list_values(keys: Iterable[str], prefix: str) -> list[str]:
    """Return what stands behind the prefix in those keys that have it."""
    return [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
