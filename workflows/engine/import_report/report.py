"""The values of an import report, and of what an installation and a team have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from workflows.engine.kinds import Kinds
from workflows.engine.language.problems import Problem
from workflows.engine.tool_calls import ToolReference


class Need(StrEnum):
    """Names the kinds of things that a document wants, in the order of the report."""

    MODEL = "model"
    TOOL = "tool"
    DATA_SET = "data_set"
    NODE_TYPE = "node_type"
    PLUGIN = "plugin"
    MODULE = "module"  # of Python, which a code node imports
    LANGUAGE = "language"  # of a code node
    FEATURE = "feature"  # of the application, or a setting of nodes


class Effect(StrEnum):
    """Says what happens to the nodes that want a thing."""

    WORKS = "works"  # it is here
    FAILS = "fails"  # a run that reaches one of the nodes fails there, unless it is pinned
    REFUSED = "refused"  # a call of it is answered with an error, and the node goes on
    REPLACED = "replaced"  # something else does the work
    IGNORED = "ignored"  # the setting has no effect
    UNUSED = "unused"  # the document brings it along, but no node uses it


# The place of a setting: the id of its node, or "" for the application, and a dotted path.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the document wants, and whether this installation and the team have it."""

    need: Need
    name: str  # as the document has it
    effect: Effect
    nodes: tuple[str, ...] = ()  # the ids of the nodes that want it
    provider: str = ""  # of a model or a tool, as the document has it
    # What answers, why a tool can't be used, the version of a plug-in, or the value of a setting.
    detail: str = ""
    places: tuple[Place, ...] = ()  # the settings that the finding reports
    is_demo: bool = False  # of a model: the offline demo model answers


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model that answers for the one that a document names."""

    name: str  # of the model that answers
    is_named: bool  # it is the named one, or one that the team chose for it
    reads_images: bool = True  # False if it is known that it can't
    is_demo: bool = (
        False  # it is the offline demo model, which answers questions and writes nothing
    )


def _find_no_knowledge_base(_data_set: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Holds what an installation and a team have, as far as documents may want it."""

    kinds: Kinds
    find_model: Callable[[str, str], ModelAnswer]  # of a provider and a model
    find_tool_fault: Callable[[ToolReference], str]  # why a tool can't be used, or ""
    # The knowledge base that answers for a data set of another installation, or "".
    find_knowledge_base: Callable[[str], str] = _find_no_knowledge_base
    modules: Mapping[str, frozenset[str] | None] = field(default_factory=dict)  # None: any
    model_parameters: frozenset[str] = frozenset()  # that are sent to models
    features: frozenset[str] = frozenset()  # of applications that are carried out
    # Whether a model of this provider and name ranks documents.
    has_reranker: Callable[[str, str], bool] = lambda _provider, _model: False


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A setting with a value that has a meaning for the document's author, and that the engine doesn't carry out."""

    node: str  # its id, or "" for the application
    kind: str
    path: str
    value: object

    @property
    def place(self) -> Place:
        return self.node, self.path


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Says what a document has, what of it works, and what it wants that is missing."""

    node_count: int
    working_count: int  # nodes that neither a finding nor a problem says fail
    findings: tuple[Finding, ...]  # what is missing
    present: tuple[Finding, ...] = ()  # what is here
    unused: tuple[Finding, ...] = ()  # plug-ins that came with the document and that no node uses
    demo_nodes: tuple[str, ...] = ()  # those of the working nodes that ask the offline demo model
    problems: tuple[Problem, ...] = ()  # of validation
    silent: tuple[Unsupported, ...] = ()  # that neither findings nor problems tell

    @property
    def demo_count(self) -> int:
        return len(self.demo_nodes)

    @property
    def ready_count(self) -> int:
        """Return the number of nodes that run and ask no demo model."""
        return self.working_count - self.demo_count

    @property
    def failing_count(self) -> int:
        return self.node_count - self.working_count

    @property
    def unchosen_base_count(self) -> int:
        """Return the number of data sets for which no knowledge base answers yet."""
        return len(self.list_findings(Need.DATA_SET))

    @property
    def error_count(self) -> int:
        """Return the number of problems that keep the workflow from starting."""
        return sum(problem.is_error for problem in self.problems)

    @property
    def is_ready(self) -> bool:
        """Return whether every node runs and nothing has to be chosen or mended first."""
        is_blocked = self.unchosen_base_count or self.error_count
        return self.ready_count == self.node_count and not is_blocked

    @property
    def is_complete(self) -> bool:
        return not self.findings

    def list_findings(self, need: Need) -> list[Finding]:
        return [finding for finding in self.findings if finding.need is need]
