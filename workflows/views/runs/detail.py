"""The page of a run: its inputs, outputs, steps, and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Document, Json
from workflows.engine.language.values import get_file_attribute, is_file
from workflows.engine.model_records import USAGE
from workflows.engine.nodes.llm.question_classifier import UNCERTAINTY, QuestionClassifier
from workflows.execution.driver import ARCHIVED
from workflows.execution.ports.models import load_directory
from workflows.models import Run, RunWait, Step
from workflows.models.documents import from_json
from workflows.models.run import RunStatus, StepStatus
from workflows.services.files.linked import load_linked_files
from workflows.services.models.answering import (
    ASKING_KINDS,
    AnsweringModel,
    read_answering_model,
)
from workflows.services.runs import parked
from workflows.services.runs.citations import load_citations
from workflows.services.runs.descendants import STARTING_KINDS
from workflows.services.runs.feedback import load_own_feedback
from workflows.services.runs.waits import list_answered
from workflows.templatetags.kind_words import get_kind_title
from workflows.templatetags.run_errors import translate_error
from workflows.views.canvas.drawing import draw
from workflows.views.chat.failure_texts import load_failed_titles
from workflows.views.runs.agent_rounds import build_rounds_context
from workflows.views.runs.answering_models import split_reasoning
from workflows.views.runs.branches import describe_branch
from workflows.views.runs.learning import get_learning_result
from workflows.views.runs.memory.considered import list_considered
from workflows.views.runs.memory.context import (
    find_pauses,
    list_memory_events,
    list_notes,
    list_recalled,
    list_recalled_below,
    list_written,
    load_left_out,
    record_access,
)
from workflows.views.runs.memory.other_changes import build_other_changes
from workflows.views.script_texts import translate_texts
from workflows.views.value_text import format_value


MIN_SHOWN_SHARE = 0.005  # a smaller one is rounded to 0%
MAX_SLOWEST: Final = 3
MAX_SHORTFALLS: Final = 5
MAX_OPEN_JSON: Final = 600  # characters; longer values are folded
MIN_WAIT: Final = 0.1  # seconds
MIN_WIDTH: Final = 0.6  # percent of the waterfall, so that a quick step can be seen


@dataclass(frozen=True, slots=True)
class SlowStep:
    """A step that took long. ``share`` is its part of the time between the run's first step and its last one."""

    title: str
    share: float


@dataclass(frozen=True, slots=True)
class StepRow:
    """A row of the table of steps; other attributes than the formatted ones are those of the step."""

    step: Step
    is_pinned: bool = False
    # The bar of the waterfall, in percent of the time between the first step's start and the last one's end.
    start: float = 0.0
    width: float = 0.0
    # How long the step waited for the answers of people.
    answer_seconds: float | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.step, name)

    @property
    def name(self) -> str:
        """Return the title of the node, or what it is: the start of a container has no title, and its id says nothing."""
        return self.step.title or get_kind_title(self.step.kind)

    @property
    def milliseconds(self) -> int | None:
        has_run = self.step.status not in {"skipped", "running"}
        return max(1, round(self.step.elapsed * 1000)) if has_run else None

    @property
    def seconds(self) -> float | None:
        return None if self.milliseconds is None else self.milliseconds / 1000

    @property
    def waited_seconds(self) -> float | None:
        """Return how long the step waited for a place to run, if a person would notice."""
        return self.step.waited if self.step.waited >= MIN_WAIT else None

    @property
    def total_tokens(self) -> int:
        return self.step.prompt_tokens + self.step.completion_tokens

    @property
    def model(self) -> AnsweringModel | None:
        """Return the model that the step asked, if its kind asks one."""
        return read_answering_model(self.step.inputs) if self.step.kind in ASKING_KINDS else None

    @property
    def is_cut(self) -> bool:
        """Return whether the answer reached its length limit."""
        return self.model is not None and self.step.outputs.get("finish_reason") == "length"

    @property
    def uncertainty(self) -> str:
        """Return why the answer of a classifier left the class open, so that a branch was taken without it."""
        outputs = self.step.outputs or {}
        is_classifier = self.step.kind == QuestionClassifier.name
        return str(outputs.get(UNCERTAINTY) or "") if is_classifier else ""

    @property
    def cost(self) -> float | None:
        """Return the cost of a model step in US dollars, or None if no price was known."""
        outputs = self.step.outputs or {}
        usage = outputs.get("usage") or outputs.get(USAGE)
        return usage.get("cost") if isinstance(usage, dict) else None

    @property
    def branch(self) -> Sequence[str]:
        """Return in words why a branch was taken."""
        return describe_branch(self.step)

    @property
    def inputs_text(self) -> str:
        return format_value(self.step.shown_inputs) if self.step.inputs else ""

    @property
    def outputs_text(self) -> str:
        return format_value(self.step.outputs) if self.step.outputs else ""

    @property
    def error_text(self) -> str:
        return translate_error(self.step.error)


@dataclass(frozen=True, slots=True)
class StepTable:
    """The table of steps: its rows, and which of its columns have anything to say."""

    rows: Sequence[StepRow]

    @property
    def has_tokens(self) -> bool:
        return any(row.total_tokens for row in self.rows)

    @property
    def column_count(self) -> int:
        """Return the columns of the table: node, its type, status, timeline, duration, and those that have anything."""
        return 5 + self.has_tokens + self.has_costs

    @property
    def has_costs(self) -> bool:
        return any(row.cost is not None for row in self.rows)


def is_pinned(step: Step, mocks: Mapping[str, Json] | None) -> bool:
    """Return whether the step returned pinned outputs, which are given for its node or for its node type."""
    return mocks is not None and (step.node_key in mocks or step.kind in mocks)


def build_step_rows(
    steps: Sequence[Step],
    mocks: Mapping[str, Json] | None = None,
    waits: Sequence[RunWait] = (),
) -> list[StepRow]:
    """Return the rows of the table of steps, each with its bar in the waterfall; ``waits`` are those of the run."""
    timed = [step for step in steps if step.started_at and step.status != StepStatus.SKIPPED]
    start = min((step.started_at for step in timed), default=0.0)
    end = max((_get_end(step) for step in timed), default=0.0)
    rows = []
    for step in steps:
        pinned = is_pinned(step, mocks)
        answered = sum_answer_seconds(step, waits)
        if step not in timed or end <= start:
            rows.append(StepRow(step, pinned, answer_seconds=answered))
            continue
        percent = 100 / (end - start)
        width = max(step.elapsed * percent, MIN_WIDTH)
        began_at = step.started_at + step.waited
        left = min((began_at - start) * percent, 100 - width)
        rows.append(StepRow(step, pinned, left, width, answered))
    return rows


def sum_answer_seconds(step: Step, waits: Sequence[RunWait]) -> float | None:
    """Return how long people took to answer this step's questions, or None if it asked nobody or is not answered."""
    times = [
        (wait.answered_at - wait.created_at).total_seconds()
        for wait in waits
        if wait.form is not None
        and wait.answered_at is not None
        and (wait.node_key, wait.rounds) == (step.node_key, step.rounds)
    ]
    return sum(times) if times else None


def _get_end(step: Step) -> float:
    return step.started_at + step.waited + step.elapsed


def name_models(document: Document, steps: Sequence[Step]) -> Document:
    """Return the document with the models that answered in place of those that its nodes name."""
    models = {
        step.node_key: model
        for step in steps
        if step.kind in ASKING_KINDS and (model := read_answering_model(step.inputs))
    }
    return replace(
        document,
        nodes=tuple(
            replace(node, data={**node.data, "model": _name_model(models[node.id])})
            if node.id in models
            else node
            for node in document.nodes
        ),
    )


def _name_model(model: AnsweringModel) -> Json:
    name = _("Offline demo model") if model.is_offline else model.full_name
    return {"provider": model.provider, "name": name}


def list_slowest(rows: Sequence[StepRow]) -> list[SlowStep]:
    """Return the slowest steps outside of containers, of which a container is one step; none of a run of one step."""
    timed = [row.step for row in rows if row.width and not row.step.rounds]
    if len(timed) < 2:
        return []
    start = min(step.started_at for step in timed)
    total = max(map(_get_end, timed)) - start
    slowest = sorted(timed, key=lambda step: -step.elapsed)[:MAX_SLOWEST]
    slow = [
        SlowStep(step.title or get_kind_title(step.kind), step.elapsed / total) for step in slowest
    ]
    return [step for step in slow if step.share >= MIN_SHOWN_SHARE]


def may_have_started_runs(steps: Sequence[Step]) -> bool:
    return any(step.kind in STARTING_KINDS for step in steps)


def list_shortfalls(run: Run, rows: Sequence[StepRow]) -> list[StepRow]:
    """Return the steps for which the run is only partially succeeded: those with an error, or else with several tries."""
    if run.status != RunStatus.PARTIAL:
        return []
    failed = [row for row in rows if row.step.error]
    return (failed or [row for row in rows if row.step.tries > 1])[:MAX_SHORTFALLS]


def build_run_context(principal: Principal, run: Run) -> dict[str, Any]:
    """Build the context of the page; access to an external user's memories is recorded in the audit log."""
    is_live = not run.has_ended
    document = from_json(run.snapshot.document)
    steps = [] if is_live else list(selectors.list_steps(principal, run))
    # For a live run, the stream delivers all events from the beginning.
    events = [] if is_live else list_memory_events(principal, run)
    considered = list_considered(principal, run, events)
    recalled, written = record_access(
        principal,
        run,
        [
            *(list_recalled(principal, run, events=events) if events else []),
            *(list_recalled_below(principal, run) if may_have_started_runs(steps) else []),
        ],
        list_written(principal, run, events=events) if events else [],
        other_namespaces=considered.namespaces,
    )
    rows = build_step_rows(steps, run.mocks, list_answered(principal, run) if steps else ())
    outputs = _format_values(run.outputs or {})
    (linked_files,) = load_linked_files(principal, ["\n".join(text for _name, text in outputs)])
    return {
        "run": run,
        "live": is_live,
        # Of a run that no user stopped.
        "stop_reason": run.error if run.error == ARCHIVED else "",
        "failed_node": load_failed_titles(principal, [run]).get(run.pk),
        "failed_node_url": _build_failed_node_url(principal, run),
        "can_cancel": permissions.may_cancel(principal, run),
        "can_delete": permissions.may_delete_run(principal, run),
        "drawing": draw(
            name_models(document, steps), models=load_directory(run.team_id) if is_live else None
        ),
        "words": translate_texts("canvas/view/node_state.js") | translate_texts("common/format.js"),
        "inputs": _format_values(run.inputs | _extract_query(run)),
        "outputs": [(name, *split_reasoning(text), _is_long_json(text)) for name, text in outputs],
        "linked_files": linked_files,
        "partial_text": "",  # delivered by the stream
        "steps": StepTable(rows),
        "slowest": list_slowest(rows),
        "shortfalls": list_shortfalls(run, rows),
        "data_sets": []
        if is_live or not permissions.may_arrange(principal, run.team_id)
        else selectors.list_data_sets(principal, run.team_id).filter(workflow=None)[:200],
        "can_run": permissions.may_run_again(principal, run),
        "can_continue": parked.may_continue(principal, run),
        "parked_steps": _list_parked_steps(run, document),
        "citations": load_citations(principal, [run]).get(run.pk, ()),
        "feedback": load_own_feedback(principal, [run]).get(run.pk),
        "other_feedback": selectors.list_feedback(principal, run).exclude(actor=principal.actor),
        **build_rounds_context(principal, run),
        "recalled": recalled,
        "considered": considered,
        "written": written,
        "notes": list_notes(principal, run, events),
        "pauses": find_pauses(events),
        "left_out": None if is_live else load_left_out(principal, run),
        **build_other_changes(principal, run, events),
        "learning": get_learning_result(principal, run),
    }


def _list_parked_steps(run: Run, document: Document) -> list[str]:
    """Return the titles of the steps during which the workers of a parked run died."""
    if not run.is_parked:
        return []
    titles = {node.id: node.title for node in document.nodes}
    return [titles.get(node) or node for node in parked.list_open_steps(run)]


def _build_failed_node_url(principal: Principal, run: Run) -> str:
    """Return the address that opens the failed node in the editor, for those who may change it; empty for others."""
    if not run.error_node or not permissions.may_edit(principal, run.workflow):
        return ""
    query = urlencode({"node": run.error_node})
    return f"{reverse('workflows:detail', args=[run.workflow_id])}?{query}"


def _format_values(values: Mapping[str, Json]) -> list[tuple[str, str]]:
    return [
        (name, format_value(_name_files(value)))
        for name, value in values.items()
        if name != "files" or value
    ]


def _name_files(value: Json) -> Json:
    """Return the names of files, which are shown as links below, and any other value as it is."""
    files = [value] if is_file(value) else value
    if not isinstance(files, list) or not files or not all(map(is_file, files)):
        return value
    return ", ".join(str(get_file_attribute(file, "name") or "") for file in files)


def _is_long_json(text: str) -> bool:
    return len(text) > MAX_OPEN_JSON and text[0] in "{["


def _extract_query(run: Run) -> dict[str, Json]:
    query = run.system.get("query")
    return {"sys.query": query} if query and query not in run.inputs.values() else {}
