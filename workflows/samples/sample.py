"""A shipped workflow: its description in the gallery, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from django.utils.functional import Promise

from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.document import Json
from workflows.engine.language.dsl import load_document
from workflows.engine.language.dsl.yaml_reading import read_yaml
from workflows.engine.testing.cases import Case, Seed, read_cases
from workflows.samples.wording import FOLDER, translate_tree, translate_yaml


# The test user whom the samples' memories about a user are about.
DEMO_USER: Final = "Ana"


@dataclass(frozen=True, slots=True)
class Sample:
    """A shipped workflow: its purpose, the things that a newcomer should try, look at and change, and its files."""

    slug: str
    title: Promise
    purpose: Promise
    trial: Promise
    observation: Promise
    change: Promise
    shows: tuple[Promise, ...] = ()
    scopes: tuple[str, ...] = ()  # of the memory that it demonstrates, named as in the memory nodes
    is_chat: bool = False
    is_block: bool = False  # a small building block, listed after the samples
    # Workflows that the sample runs: short name, which is the name of the file, → title. They are created beside it.
    others: Mapping[str, Promise] = field(default_factory=dict, hash=False)

    @property
    def explanation_lines(self) -> tuple[Promise, ...]:
        return self.purpose, self.trial, self.observation, self.change

    @property
    def source(self) -> str:
        """Return the document in the reader's language."""
        return translate_yaml(self._read_file("workflow"))

    def read_other(self, slug: str) -> str:
        """Return the document of a workflow that the sample runs, in the reader's language."""
        return translate_yaml(self._read_file(slug))

    @property
    def cases(self) -> list[Case]:
        return read_cases(translate_tree(read_yaml(self._read_file("tests"))))

    @property
    def trial_inputs(self) -> Mapping[str, Json]:
        """Return the inputs with which its first test case begins: a run with them shows what the sample does."""
        turns = [turn for case in self.cases for turn in case.turns]
        return turns[0].inputs if turns else {}

    @property
    def memories(self) -> list[Seed]:
        if not (FOLDER / self.slug / "memories.yml").exists():
            return []
        seeds = translate_tree(read_yaml(self._read_file("memories")))
        return [Seed.model_validate(seed) for seed in seeds]

    @property
    def first_user(self) -> str:
        """Return the test user as whom a new copy is opened, since its memories about a user are about that user."""
        return DEMO_USER if any(seed.person == DEMO_USER for seed in self.memories) else ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of the nodes at the top level from left to right."""
        nodes = [node for node in load_document(self.source).document.nodes if not node.parent]
        nodes.sort(key=lambda node: (node.position.x, node.position.y))
        return tuple(node.kind for node in nodes if node.kind not in ENTRY_KINDS)

    def _read_file(self, name: str) -> str:
        return (FOLDER / self.slug / f"{name}.yml").read_text(encoding="utf-8")
