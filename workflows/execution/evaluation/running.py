"""Runs the cases of evaluations in workers, a few at a time, and goes on after a worker has died.

Every message runs one case and sends the next message. A sweep starts evaluations again whose messages were lost, and
takes over a case whose lease has ended.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from accounts.models import Team
from accounts.principals import RunPrincipal, load_run_principal
from accounts.request_transaction import without_connection
from accounts.tenancy import tenant
from config.net import mark_own_calls
from config.redaction import Redactor
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Document, Json
from workflows.engine.ports import ModelPort, Usage
from workflows.engine.testing.cases import Case, CaseResult, Facts, read_case
from workflows.engine.testing.scoring import SCORERS, Score, score_checks, take_lower
from workflows.execution.called_runs import build_case_mark
from workflows.execution.evaluation.case_runner import (
    CaseRunner,
    describe_result,
    find_published_document,
    get_services,
    load_workflows,
)
from workflows.execution.evaluation.judge import judge_answer
from workflows.execution.evaluation.summary import summarize
from workflows.execution.journal.codec import dump
from workflows.execution.journal.masking import build_run_redactor, load_secrets
from workflows.execution.threads import run_in_thread
from workflows.models import Evaluation, EvaluationResult
from workflows.models.documents import from_json
from workflows.models.reports.data_sets import CaseStatus, EvaluationStatus, Scorer
from workflows.sandbox.places import run_for
from workflows.tools.port import build_team_tools


log = logging.getLogger(__name__)

CONCURRENCY: Final = 3  # cases of an evaluation that run at the same time
CASE_SECONDS: Final = 290.0  # of all its turns
LEASE: Final = timedelta(minutes=5)
MAX_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """This is the result of running a case."""

    answer: Json = None
    score: Score = field(default_factory=lambda: Score(None))
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    detail: Mapping[str, Json] = field(default_factory=dict)


def run_next_case(team_id: UUID, evaluation_id: UUID) -> bool:
    """Run one case of an evaluation, and return whether there may be another one to run."""
    row = claim_result(team_id, evaluation_id)
    if row is None:
        finish_if_done(team_id, evaluation_id)
        return False
    outcome = _run(row)
    _store(row, outcome)
    finish_if_done(team_id, evaluation_id)
    return True


def claim_result(team_id: UUID, evaluation_id: UUID) -> EvaluationResult | None:
    """Claim the next case of a running evaluation, unless enough of them run already."""
    now = timezone.now()
    with tenant([team_id]):
        evaluation = (
            Evaluation.objects.unscoped()
            .select_for_update()
            .filter(pk=evaluation_id, status=EvaluationStatus.RUNNING)
            .first()
        )
        if evaluation is None:
            return None
        rows = EvaluationResult.objects.unscoped().filter(evaluation=evaluation)
        is_lost = Q(status=CaseStatus.RUNNING, lease_until__lt=now)
        if rows.filter(status=CaseStatus.RUNNING).exclude(is_lost).count() >= CONCURRENCY:
            return None
        row = (
            rows.filter(Q(status=CaseStatus.QUEUED) | is_lost)
            .order_by("case__rank", "side")
            .first()
        )
        if row is None:
            return None
        row.status, row.lease_until = CaseStatus.RUNNING, now + LEASE
        row.attempt += 1
        row.save(update_fields=["status", "lease_until", "attempt"])
        loaded = EvaluationResult.objects.unscoped().select_related(
            *("case", "evaluation__snapshot", "evaluation__other_snapshot"),
            *("evaluation__workflow", "evaluation__data_set"),
        )
        return loaded.get(pk=row.pk)


def _run(row: EvaluationResult) -> Outcome:
    if row.attempt > MAX_ATTEMPTS:
        return Outcome(score=Score(None, problem="The workers that ran this case died."))
    try:
        prepared = _prepare(row)  # in this thread, whose connection it is
        with (
            run_for(row.team_id, row.evaluation.workflow_id),
            mark_own_calls(build_case_mark(row.pk)),
            without_connection(is_required=False),
        ):
            return asyncio.run(asyncio.wait_for(_run_and_score(row, prepared), CASE_SECONDS))
    except EngineFault as fault:
        return Outcome(score=Score(None, problem=fault.message))
    except TimeoutError:
        return Outcome(score=Score(None, problem="The case timed out."))
    except Exception as error:  # the row must record the end in any case
        log.exception("evaluation_case_broke", extra={"result": str(row.pk)})
        return Outcome(score=Score(None, problem=f"{type(error).__name__}: {error}"))


async def _run_and_score(row: EvaluationResult, prepared: "_Prepared") -> Outcome:
    evaluation, case = row.evaluation, read_case(row.spec or row.case.spec)
    result = await prepared.runner.run(prepared.document, case)
    # The steps of a large set would need much room; the editor shows those of its tests on the canvas.
    detail = describe_result(result, with_steps=evaluation.data_set.workflow_id is not None)
    usage = sum((_sum_usage(turn.facts) for turn in result.turns), Usage())
    if not result.turns or result.problem:
        score = Score(None, problem=result.problem)
        return Outcome(score=score, usage=usage, seconds=result.seconds, detail=detail)
    answer = read_answer(result.turns[-1].facts, evaluation.output)
    score, judge_usage = await _score(row, case, result, answer, prepared.runner.models)
    return Outcome(answer, score, usage + judge_usage, result.seconds, detail)


async def _score(
    row: EvaluationResult, case: Case, result: CaseResult, answer: Json, models: ModelPort
) -> tuple[Score, Usage]:
    """Return the lower of the score of the answer and that of the checks, and the tokens of the judge."""
    evaluation, facts = row.evaluation, result.turns[-1].facts
    is_judged = evaluation.scorer == Scorer.JUDGE
    if case.expected is None and not is_judged:
        return _explain_failure(score_checks(case, result), case, facts), Usage()
    if facts.status not in ("succeeded", "partial-succeeded"):
        return Score(0.0, problem=facts.error or facts.status), Usage()
    usage = Usage()
    if is_judged:
        score, usage = await _judge(row, case, answer, models)
    else:
        score = SCORERS[evaluation.scorer](answer, case.expected)
    return (take_lower(score, score_checks(case, result)) if case.has_checks else score), usage


def _explain_failure(score: Score, case: Case, facts: Facts) -> Score:
    """Return the score with the error of a run that was to succeed."""
    return score if case.has_checks or not facts.error else replace(score, problem=facts.error)


async def _judge(
    row: EvaluationResult, case: Case, answer: Json, models: ModelPort
) -> tuple[Score, Usage]:
    judge, turn = row.evaluation.judge, case.turns[-1]
    return await judge_answer(
        models,
        provider=str(judge.get("provider", "")),
        model=str(judge.get("model", "")),
        criteria=str(judge.get("criteria", "")),
        question=turn.say or turn.inputs,
        expected=case.expected,
        answer=answer,
        key=str(row.pk),
    )


@dataclass(frozen=True, slots=True)
class _Prepared:
    document: Document
    runner: CaseRunner


def _prepare(row: EvaluationResult) -> _Prepared:
    """Load what the run of a case needs from the database."""
    evaluation = row.evaluation
    snapshot = evaluation.other_snapshot if row.side else evaluation.snapshot
    assert snapshot is not None  # noqa: S101  # a second side exists only with a second snapshot
    document = from_json(snapshot.document)
    with tenant([row.team_id]):
        secrets = load_secrets(evaluation.workflow_id)
    find_document = partial(find_published_document, _load_starter(row), row.team_id)
    workflows = load_workflows(document, find_document)
    services = get_services()
    models = services.models(row.team_id, evaluation.offline)
    tools = build_team_tools(
        row.team_id,
        partial(_load_starter, row),
        run_in_thread,
        clock=services.clock,
        http=services.http,
    )
    return _Prepared(document, CaseRunner(services, models, secrets, workflows, tools))


def _load_starter(row: EvaluationResult) -> RunPrincipal:
    evaluation = row.evaluation
    return load_run_principal(
        run_id=row.pk,
        team_id=row.team_id,
        user_id=evaluation.created_by_id,
        key_id=evaluation.api_key_id,
    )


def read_answer(facts: Facts, output: str) -> Json:
    """Return the named output; without a name the answer of a chat, the only output, or all outputs."""
    outputs = dict(facts.outputs)
    if output:
        return outputs.get(output)
    if "answer" in outputs:
        return outputs["answer"]
    if facts.stream and not outputs:
        return facts.stream
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs


def _sum_usage(facts: Facts) -> Usage:
    """Return the tokens of all steps, and the cost of those whose model has a price."""
    total = Usage()
    for step in facts.steps:
        usage = step.outputs.get("usage") if isinstance(step.outputs, dict) else None
        cost = usage.get("cost") if isinstance(usage, dict) else None
        total += Usage(step.prompt_tokens, step.completion_tokens, cost)
    return total


def _store(row: EvaluationResult, outcome: Outcome) -> None:
    """Store the outcome with secrets masked, unless another worker has taken the case over."""
    with tenant([row.team_id]):
        secrets = load_secrets(row.evaluation.workflow_id)
        redactor = build_run_redactor(str(row.pk), secrets)
        EvaluationResult.objects.unscoped().filter(
            pk=row.pk, attempt=row.attempt, status=CaseStatus.RUNNING
        ).update(
            status=CaseStatus.DONE,
            lease_until=None,
            answer=_mask(redactor, outcome.answer),
            detail=_mask(redactor, dict(outcome.detail)),
            score=outcome.score.value,
            reason=redactor.redact_text(outcome.score.reason)[:2_000],
            problem=redactor.redact_text(outcome.score.problem)[:2_000],
            seconds=outcome.seconds,
            prompt_tokens=outcome.usage.prompt_tokens,
            completion_tokens=outcome.usage.completion_tokens,
            cost=outcome.usage.cost,
            finished_at=timezone.now(),
        )


def _mask(redactor: Redactor, value: Json) -> Json:
    return json.loads(redactor.redact_json_text(dump(value)))


def finish_if_done(team_id: UUID, evaluation_id: UUID) -> None:
    """Update the summary of a running evaluation, and end it when its last case has ended."""
    with tenant([team_id]):
        evaluations = Evaluation.objects.unscoped().select_for_update()
        evaluation = evaluations.filter(pk=evaluation_id, status=EvaluationStatus.RUNNING).first()
        if evaluation is None:
            return
        results = list(EvaluationResult.objects.unscoped().filter(evaluation=evaluation))
        evaluation.summary = summarize(results)
        if all(result.status == CaseStatus.DONE for result in results):
            evaluation.status = EvaluationStatus.FINISHED
            evaluation.finished_at = timezone.now()
        evaluation.save(update_fields=["summary", "status", "finished_at", "updated_at"])


def list_waiting_evaluations() -> list[tuple[UUID, UUID]]:
    """Return team and id of the evaluations that have a case which no worker runs."""
    evaluations: list[tuple[UUID, UUID]] = []
    for team_id in Team.objects.values_list("id", flat=True):
        with tenant([team_id]):
            is_free = Q(results__status=CaseStatus.QUEUED) | Q(
                results__status=CaseStatus.RUNNING, results__lease_until__lt=timezone.now()
            )
            rows = Evaluation.objects.unscoped().filter(is_free, status=EvaluationStatus.RUNNING)
            evaluations += [
                (team_id, pk) for pk in rows.values_list("pk", flat=True).distinct().order_by("pk")
            ]
    return evaluations
