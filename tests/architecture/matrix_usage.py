"""Rows and objects of usage, feedback, a team's runs, data sets and evaluations."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _evaluation(person: Person, canary: str) -> Any:
    """A case and an evaluation are found only beside their own data set: the three are made as one."""
    from accounts.tenancy import tenant
    from tests.factories.workflows import make_workflow
    from workflows.models import Evaluation
    from workflows.services.data_sets import cases, data_sets, evaluations

    with tenant([person.team.pk]):
        known = Evaluation.objects.unscoped().filter(data_set__name=canary, team_id=person.team.pk)
        if found := known.select_related("data_set").first():
            return found
    principal = person.principal
    data_set = data_sets.save_data_set(principal, team_id=person.team.pk, name=canary)
    case = cases.make_case(canary, {"text": canary}, canary)
    cases.add_cases(principal, data_set, [case])
    workflow = make_workflow(person, canary)
    request = evaluations.EvaluationRequest()
    return evaluations.start_evaluation(principal, data_set, workflow, request)


def _case(person: Person, canary: str) -> Any:
    from accounts.tenancy import tenant
    from workflows.models import DataCase

    evaluation = _evaluation(person, canary)
    with tenant([person.team.pk]):
        return DataCase.objects.unscoped().get(data_set_id=evaluation.data_set_id).pk


def _usage(person: Person, canary: str) -> Any:
    """One row of each table that counts runs and model calls, and feedback on a run."""
    from django.utils import timezone

    from accounts.tenancy import tenant
    from tests.factories.workflows import make_run, make_workflow
    from workflows.models import ModelUsage, RunUsage, StartCount
    from workflows.services.runs.feedback import give_feedback

    workflow = make_workflow(person, canary)
    feedback = give_feedback(person.principal, make_run(person, workflow), rating=1, text=canary)
    own = {
        "team_id": person.team.pk,
        "day": timezone.now().date(),
        "workflow_id": workflow.pk,
        "subject": canary,
    }
    with tenant([person.team.pk]):
        RunUsage.objects.create(**own, runs=1)
        key_id = uuid4()  # each call makes another row
        StartCount.objects.create(team_id=person.team.pk, day=own["day"], api_key_id=key_id, runs=1)
        ModelUsage.objects.create(**own, provider=canary, model=canary, calls=1)
    return feedback.pk


def _key(person: Person, canary: str) -> Any:
    """The first answer to a request with an Idempotency-Key."""
    from workflows.services.idempotency import ClaimedKey, claim_key, store_answer

    claimed = claim_key(person.principal, person.team.pk, key=canary, digest="")
    if isinstance(claimed, ClaimedKey):
        store_answer(claimed, status=202, body=canary)
    return canary


OBJECTS: dict[str, Maker] = {
    "idempotency key": _key,
    "usage": _usage,
    "data set": lambda person, canary: _evaluation(person, canary).data_set_id,
    "data case": _case,
    "evaluation": lambda person, canary: _evaluation(person, canary).pk,
}

DATA_SET = {"data_set_id": "data set"}
CASE = {**DATA_SET, "case_id": "data case"}
EVALUATION = {"evaluation_id": "evaluation"}
RUN = {"run_id": "run"}
WORKFLOW = {"workflow_id": "workflow"}
KEEP = {"keep_days": 7}
ADA = {"run_id": "run for ada"}
GOOD = {"rating": 1}
UP = {"rating": "up"}
FORM = {"name": "Greets", "turn-0-person": "", "turn-0-say": "Hi?"}
TYPED = {"query": "Hi?"}
NAMED = {"name": "Mine"}

API = "api/v1/data-sets"
ONE = f"{API}/<uuid:data_set_id>"
PAGE = "data-sets/<uuid:data_set_id>/"
FEEDBACK = "api/v1/runs/<uuid:run_id>/feedback"
EVALUATE = {**DATA_SET, "workflow": "workflow"}
WITH_RUN = {**DATA_SET, "run": "run for ada"}
RUN_INTO = {"run_id": "run for ada", "data_set": "data set"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("GET", "api/v1/usage", "- 200 200 200 200 200"),
    Row("GET", "api/v1/usage.csv", "- 200 200 200 200 200"),
    Row("GET", "api/v1/team-runs", "- 200 403 403 200 403"),
    Row("GET", "api/v1/team-runs", "- 404 403 403 200 403", {"workflow": "workflow"}, {}),
    Row("GET", FEEDBACK, "- 404 404 404 404 404", RUN),
    Row("GET", FEEDBACK, "- 404 404 404 200 404", ADA),
    Row("POST", FEEDBACK, "- 404 404 404 404 404", RUN, GOOD),
    Row("POST", FEEDBACK, "- 404 404 404 200 404", ADA, GOOD),
    Row("DELETE", FEEDBACK, "- 404 404 404 204 404", ADA),
    Row("GET", "api/v1/limits", "- 200 200 200 200 200"),
    Row("PUT", "api/v1/limits", "- 200 403 403 403 403", body={"runs_per_day": 9}),
    Row("GET", "team/limits/", "- 200 403 403 200 -"),
    Row("POST", "team/limits/", "- 302 403 403 403 -", body={"runs_per_day": "9"}),
    Row("GET", "usage/", "- 200 200 200 200 -"),
    Row("GET", "usage/export.csv", "- 200 200 200 200 -"),
    Row("GET", "runs/team/", "- 200 403 403 200 -"),
    Row("GET", "runs/storage/", "- 200 403 403 200 -"),
    Row("GET", "api/v1/storage", "- 200 403 403 200 403"),
    Row("PUT", "api/v1/workflows/<uuid:workflow_id>/retention", "- 404 403 200 200 404", WORKFLOW, KEEP),
    Row("POST", "workflows/<uuid:workflow_id>/retention/", "- 404 403 302 302 -", WORKFLOW, KEEP),
    Row("POST", "runs/<uuid:run_id>/again/", "- 404 404 404 404 -", RUN, {}),
    Row("POST", "runs/<uuid:run_id>/again/", "- 404 404 404 302 -", ADA, {}),
    Row("DELETE", "api/v1/runs/<uuid:run_id>", "- 404 404 404 404 404", RUN),
    Row("DELETE", "api/v1/runs/<uuid:run_id>", "- 404 404 404 409 404", ADA),  # it has not ended
    Row("POST", "runs/<uuid:run_id>/delete/", "- 404 404 404 404 -", RUN, {}),
    Row("POST", "runs/<uuid:run_id>/delete/", "- 404 404 404 302 -", ADA, {}),
    Row("POST", "runs/<uuid:run_id>/feedback/", "- 404 404 404 404 -", RUN, UP),
    Row("POST", "runs/<uuid:run_id>/feedback/", "- 404 404 404 302 -", ADA, UP),
    Row("GET", "runs/<uuid:run_id>/answer-note/", "- 404 404 404 404 -", RUN),
    Row("GET", "runs/<uuid:run_id>/answer-note/", "- 404 404 404 200 -", ADA),
    Row("POST", "runs/<uuid:run_id>/add-to-data-set/", "- 404 404 404 302 -", RUN_INTO, {}),
    Row("GET", API, "- 200 200 200 200 200"),
    Row("POST", API, "- 201 403 201 201 201", body=NAMED),
    Row("PUT", ONE, "- 404 403 200 200 404", DATA_SET, NAMED),
    Row("DELETE", ONE, "- 404 403 204 204 404", DATA_SET),
    Row("GET", f"{ONE}/cases", "- 404 200 200 200 404", DATA_SET),
    Row("GET", f"{ONE}/export", "- 404 200 200 200 404", DATA_SET),
    Row("POST", f"{ONE}/cases", "- 404 403 201 201 404", DATA_SET, {"cases": [TYPED]}),
    Row("POST", f"{ONE}/import", "- 404 403 201 201 404", DATA_SET, {"text": "query\nHi?", "format": "csv"}),
    Row("POST", f"{ONE}/runs", "- 404 403 404 201 404", WITH_RUN, {}),
    Row("PUT", f"{ONE}/cases/<uuid:case_id>", "- 404 403 200 200 404", CASE, TYPED),
    Row("DELETE", f"{ONE}/cases/<uuid:case_id>", "- 404 403 204 204 404", CASE),
    Row("GET", f"{ONE}/evaluations", "- 404 200 200 200 404", DATA_SET),
    Row("POST", f"{ONE}/evaluations", "- 404 403 202 202 404", EVALUATE, {}),
    Row("GET", "api/v1/evaluations/<uuid:evaluation_id>", "- 404 200 200 200 404", EVALUATION),
    Row("POST", "api/v1/evaluations/<uuid:evaluation_id>/cancel", "- 404 403 200 200 404", EVALUATION, {}),
    Row("GET", "data-sets/", "- 200 200 200 200 -"),
    Row("POST", "data-sets/", "- 302 403 302 302 -", body=NAMED),
    Row("GET", PAGE, "- 404 200 200 200 -", DATA_SET),
    Row("POST", f"{PAGE}rename/", "- 404 403 302 302 -", DATA_SET, NAMED),
    Row("POST", f"{PAGE}delete/", "- 404 403 302 302 -", DATA_SET, {}),
    Row("GET", f"{PAGE}cases/add/", "- 404 403 200 200 -", DATA_SET),
    Row("POST", f"{PAGE}cases/add/", "- 404 403 302 302 -", DATA_SET, TYPED),
    Row("POST", f"{PAGE}cases/import/", "- 404 403 302 302 -", DATA_SET, {"text": "query\nHi?"}),
    Row("GET", f"{PAGE}cases.jsonl", "- 404 200 200 200 -", DATA_SET),
    Row("GET", f"{PAGE}cases/<uuid:case_id>/", "- 404 403 200 200 -", CASE),
    Row("POST", f"{PAGE}cases/<uuid:case_id>/", "- 404 403 302 302 -", CASE, FORM),
    Row("POST", f"{PAGE}cases/<uuid:case_id>/delete/", "- 404 403 302 302 -", CASE, {}),
    Row("POST", f"{PAGE}evaluate/", "- 404 403 302 302 -", EVALUATE, {"version": "draft", "scorer": "exact"}),
    Row("GET", "evaluations/<uuid:evaluation_id>/", "- 404 200 200 200 -", EVALUATION),
    Row("POST", "evaluations/<uuid:evaluation_id>/stop/", "- 404 403 302 302 -", EVALUATION, {}),
]  # fmt: skip
