"""Which models answered in a run, whether an answer was cut, and their reasoning."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from accounts.principals import Principal
from workflows.engine.language.document import Json
from workflows.engine.nodes.llm.reasoning import ReasoningSplitter
from workflows.models import Run, Step
from workflows.services.models.answering import (
    MODEL_KINDS,
    AnsweringModel,
    read_answering_model,
)


@dataclass(frozen=True, slots=True)
class RunAnswers:
    """This is shown beside the answer of a run about the models that wrote it."""

    models: tuple[AnsweringModel, ...] = ()
    is_cut: bool = False
    reasoning: str = ""

    @property
    def is_offline(self) -> bool:
        return bool(self.models) and all(model.is_offline for model in self.models)


NO_ANSWERS = RunAnswers()


def load_run_answers(principal: Principal, runs: Iterable[Run]) -> dict[UUID, RunAnswers]:
    """Return the models of each run's answer; the caller may see the runs."""
    ended = [run.pk for run in runs if run.has_ended]
    if not ended:
        return {}
    rows = (
        Step.objects.visible_to(principal)
        .filter(run__in=ended, kind__in=MODEL_KINDS, status="succeeded")
        .order_by("run_id", "id")
        .values_list("run_id", "inputs", "outputs")
    )
    steps: dict[UUID, list[tuple[Json, Json]]] = defaultdict(list)
    for run_id, inputs, outputs in rows:
        steps[run_id].append((inputs, outputs))
    return {run_id: _summarize(records) for run_id, records in steps.items()}


def _summarize(steps: Sequence[tuple[Json, Json]]) -> RunAnswers:
    models = dict.fromkeys(
        model for inputs, _outputs in steps if (model := read_answering_model(inputs)) is not None
    )
    texts = [str(outputs.get("reasoning_content") or "").strip() for _inputs, outputs in steps]
    return RunAnswers(
        tuple(models),
        any(outputs.get("finish_reason") == "length" for _inputs, outputs in steps),
        "\n\n".join(filter(None, texts)),
    )


def split_reasoning(text: str) -> tuple[str, str]:
    """Return a text without the reasoning between its tags, and the reasoning."""
    if "<think>" not in text:
        return text, ""
    splitter = ReasoningSplitter(tagged=False)
    splitter.feed(text)
    splitter.end()
    return "".join(splitter.text), "".join(splitter.reasoning).strip()
