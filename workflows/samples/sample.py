"""A shipped workflow: its description in the gallery, and its files."""

from dataclasses import dataclass

from django.utils.functional import Promise

from workflows.engine.language.containers import ENTRY_KINDS
from workflows.engine.language.dsl import load_document
from workflows.engine.language.dsl.yaml_reading import read_yaml
from workflows.engine.testing.cases import Case, Seed, read_cases
from workflows.samples.wording import FOLDER, translate_text, translate_tree


@dataclass(frozen=True, slots=True)
class Sample:
    """A shipped workflow. Its four ``lines`` are its purpose and suggestions for what to try, check and change."""

    slug: str
    title: Promise
    lines: tuple[Promise, ...]
    shows: tuple[Promise, ...] = ()
    # The memory scope that it demonstrates, named as in the memory nodes.
    scopes: tuple[str, ...] = ()
    is_chat: bool = False
    has_memories: bool = False
    is_block: bool = False  # a small building block, listed after the samples

    @property
    def explanation(self) -> str:
        return "\n".join(str(line) for line in self.lines)

    @property
    def source(self) -> str:
        """Return the document in the reader's language."""
        return translate_text(self._read_file("workflow"))

    @property
    def cases(self) -> list[Case]:
        return read_cases(translate_tree(read_yaml(self._read_file("tests"))))

    @property
    def memories(self) -> list[Seed]:
        if not self.has_memories:
            return []
        seeds = translate_tree(read_yaml(self._read_file("memories")))
        return [Seed.model_validate(seed) for seed in seeds]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of its nodes, from left to right."""
        nodes = [node for node in load_document(self.source).document.nodes if not node.parent]
        nodes.sort(key=lambda node: (node.position.x, node.position.y))
        return tuple(node.kind for node in nodes if node.kind not in ENTRY_KINDS)

    def _read_file(self, name: str) -> str:
        return (FOLDER / self.slug / f"{name}.yml").read_text(encoding="utf-8")
