"""Why the answer of a turn was empty: its answer nodes, and the variables in them that had no text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID

from django.urls import reverse

from accounts.principals import Principal
from workflows.engine.language.document import NodeSpec, Selector
from workflows.engine.language.plan import list_node_titles
from workflows.engine.language.templating import list_references
from workflows.engine.text_rendering import as_text
from workflows.execution.kinds import load_kinds
from workflows.models import Run, Step
from workflows.models.documents import from_json
from workflows.models.run import RunStatus


_KIND = "answer"
_ENDS_WITH_ANSWER = (RunStatus.SUCCEEDED, RunStatus.PARTIAL)


@dataclass(frozen=True, slots=True)
class EmptyAnswer:
    """An answer node that made no text. ``variables`` are those that it uses, by the names that people see."""

    title: str
    url: str  # opens the node in the editor
    variables: tuple[str, ...]

    @property
    def variable_list(self) -> str:
        return ", ".join(f"{{{{{name}}}}}" for name in self.variables)


def load_empty_answers(
    principal: Principal, runs: Iterable[Run]
) -> dict[UUID, Sequence[EmptyAnswer]]:
    """Return the empty answers of each run whose whole answer is empty, by the run's id."""
    empty_runs = {run.pk: run for run in runs if _has_empty_answer(run)}
    if not empty_runs:
        return {}
    steps = Step.objects.visible_to(principal).filter(run__in=empty_runs, kind=_KIND)
    nodes_by_run: dict[UUID, list[str]] = {run_id: [] for run_id in empty_runs}
    for run_id, node in steps.order_by("id").values_list("run_id", "node_key"):
        nodes_by_run[run_id].append(node)
    return {
        run_id: _describe(empty_runs[run_id], list(dict.fromkeys(nodes)))
        for run_id, nodes in nodes_by_run.items()
    }


def _has_empty_answer(run: Run) -> bool:
    answer = (run.outputs or {}).get("answer")
    return run.status in _ENDS_WITH_ANSWER and isinstance(answer, str) and not answer.strip()


def _describe(run: Run, node_ids: Sequence[str]) -> list[EmptyAnswer]:
    document = from_json(run.snapshot.document)
    titles = list_node_titles(document, load_kinds())
    specs = {node.id: node for node in document.nodes}
    page = reverse("workflows:detail", args=[run.workflow_id])
    return [
        EmptyAnswer(
            titles.get(node_id) or node_id,
            f"{page}?node={quote(node_id, safe='')}",
            tuple(_name_variables(specs[node_id], titles)),
        )
        for node_id in node_ids
        if node_id in specs
    ]


def _name_variables(spec: NodeSpec, titles: dict[str, str]) -> Iterable[str]:
    """Return the names of the variables of an answer without text, which are all that it uses, once each."""
    selectors = list_references(as_text(spec.data.get("answer")))
    return dict.fromkeys(_name_variable(selector, titles) for selector in selectors)


def _name_variable(selector: Selector, titles: dict[str, str]) -> str:
    source, *path = selector
    name = ".".join(map(str, path))
    if source in titles:
        return f"{titles[source]} › {name}"
    return name if source == "conversation" else f"{source}.{name}"
