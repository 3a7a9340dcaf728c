"""Insert the first steps of a run: copied from an earlier run, or typed by a person."""

from collections.abc import Mapping, Sequence
from json import loads
from uuid import UUID

from config.redaction import NO_REDACTION, Redactor
from workflows.engine.language.document import Json
from workflows.engine.runtime.step_records import StepRecord
from workflows.execution.journal.codec import build_step_row, dump
from workflows.execution.journal.masking import build_run_redactor, load_secrets
from workflows.execution.plans import list_secret_names
from workflows.models import Run, Snapshot, Step
from workflows.models.documents import from_json


_COPIED = (
    *("node_key", "rounds", "kind", "title", "status", "handle", "error", "error_type", "tries"),
    *("started_at", "elapsed", "prompt_tokens", "completion_tokens"),
)
_MASKED = ("inputs", "outputs", "writes")


def copy_steps(run: Run, source_run: Run, steps: Sequence[Step]) -> None:
    """Copy the steps to the run. The mask of a secret depends on the run, so the secrets are masked again."""
    redactors = _build_redactors(run, source_run)
    Step.objects.unscoped().bulk_create(
        Step(
            team_id=run.team_id,
            run=run,
            attempt=0,
            reused_from=step.reused_from or source_run.pk,
            **{name: getattr(step, name) for name in _COPIED},
            **{name: _translate_masks(getattr(step, name), *redactors) for name in _MASKED},
        )
        for step in steps
    )


def insert_typed_values(run: Run, records: Sequence[StepRecord]) -> None:
    """Store the values that a person typed for nodes that never ran, as steps of this run, with its secrets masked."""
    target = load_redactor(run)
    Step.objects.unscoped().bulk_create(
        Step(
            team_id=run.team_id,
            run=run,
            attempt=0,
            reused_from=run.pk,
            **_mask_columns(_build_columns(record), target),
        )
        for record in records
    )


def load_redactor(run: Run) -> Redactor:
    """Return the redactor of a run, which a worker has as well. It needs no query for a workflow without secrets."""
    names = _list_secret_names(run.snapshot_id)
    return (
        build_run_redactor(str(run.pk), load_secrets(run.workflow_id, names))
        if names
        else NO_REDACTION
    )


def _mask_columns(columns: Mapping[str, Json], target: Redactor) -> dict[str, Json]:
    return {
        name: _translate_masks(value, NO_REDACTION, target) if name in _MASKED else value
        for name, value in columns.items()
    }


def _build_columns(record: StepRecord) -> dict[str, Json]:
    return {name: value for name, value in build_step_row(record).items() if name != "part"}


def _translate_masks(value: Json, source: Redactor, target: Redactor) -> Json:
    if not target:
        return value
    return loads(target.redact_json_text(source.restore_json_text(dump(value))))


def _build_redactors(run: Run, source_run: Run) -> tuple[Redactor, Redactor]:
    """Return the redactors of the source run and of the run."""
    names = _list_secret_names(source_run.snapshot_id) | _list_secret_names(run.snapshot_id)
    if not names:
        return NO_REDACTION, NO_REDACTION
    secrets = load_secrets(run.workflow_id, names)
    return build_run_redactor(str(source_run.pk), secrets), build_run_redactor(str(run.pk), secrets)


def _list_secret_names(snapshot_id: UUID) -> frozenset[str]:
    """Return the names of the secrets of a document. The caller has found a run of it and may therefore see it."""
    return list_secret_names(from_json(Snapshot.objects.unscoped().get(pk=snapshot_id).document))
