"""Routes of the questions of paused runs, by the token of an event or an answer."""

from django.http import HttpRequest
from ninja import Router

from accounts.errors import NotFound
from accounts.http.auth import KeyAuth
from workflows.dify_api.answers import describe_form
from workflows.dify_api.apps import App, open_app
from workflows.dify_api.bodies import FormBody
from workflows.dify_api.calls import to_seconds
from workflows.dify_api.errors import DifyError, refuse_as_missing
from workflows.engine.language.document import Json
from workflows.idempotent_requests import accept_idempotency_key
from workflows.models import Run, RunWait
from workflows.services.questions.links import find_signed_wait
from workflows.services.runs.waits import answer_wait, is_open


router = Router(auth=[KeyAuth()])


@router.get("/form/human_input/{form_token}", summary="Get a form")
def read_form(request: HttpRequest, form_token: str) -> dict[str, Json]:
    app = open_app(request)
    wait, _run = _find(app, form_token)
    form = describe_form(wait.form or {})
    return {
        "form_content": form["form_content"],
        "inputs": form["inputs"],
        "resolved_default_values": form["resolved_default_values"],
        "user_actions": form["actions"],
        "expiration_time": to_seconds(wait.due_at),
    }


@router.post("/form/human_input/{form_token}", summary="Answer a form")
@accept_idempotency_key
def answer_form(request: HttpRequest, form_token: str, body: FormBody) -> dict[str, Json]:
    """Answer the question, and continue the run."""
    app = open_app(request, verb="run")
    subject = app.find_subject(body.user)
    wait, run = _find(app, form_token)
    if run.subject != subject.id:
        app.record_refusal("run.answer", "run", str(run.pk))
        raise refuse_as_missing("Form not found")
    answer_wait(app.principal, run, wait_id=wait.pk, values=body.inputs, action=body.action)
    return {}


def _find(app: App, token: str) -> tuple[RunWait, Run]:
    """Return an open question of a run of this app, and the run."""
    try:
        wait, _address = find_signed_wait(token)
    except NotFound:
        raise refuse_as_missing("Form not found") from None
    run = app.find_run(str(wait.run_id))
    if run is None:
        app.record_refusal("run.answer", "run", str(wait.run_id))
        raise refuse_as_missing("Form not found")
    if not is_open(wait, run):
        was_answered = wait.answered_at is not None and not wait.is_timed_out
        code = "human_input_form_submitted" if was_answered else "human_input_form_expired"
        raise DifyError(412, code, "This form has been answered, or its time is up.")
    return wait, run
