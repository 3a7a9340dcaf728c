"""Links with which people without an account answer a question.

A link leads to one question. It shows nothing else of the run, accepts one answer, and ends with the wait. One kind is for
whoever has it, if the question admits that; the other was mailed to one address, and stands for that person.
"""

from collections.abc import Mapping

from django.core import signing

from accounts import audit
from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.answerers import EMAIL
from workflows.engine.language.document import Json
from workflows.engine.runtime.waits import BY_LINK, is_uncertain
from workflows.execution.questions.links import read_signed_wait, sign_wait
from workflows.execution.questions.people import list_asked_addresses
from workflows.models import PageAccess, PublicPage, Run, RunWait, Workflow
from workflows.services.runs.waits import describe_answer, store_answer


def may_pass_on(principal: Principal, wait: RunWait) -> bool:
    """Return whether the principal may give others a link to the question. Lost calls are decided by members only."""
    if not wait.admits_link or is_uncertain(wait.form):
        return False
    return permissions.may_answer_question(principal, wait)


def make_link_token(principal: Principal, wait: RunWait) -> str:
    """Return the token of the link with which anybody may answer. Raises NotFound unless ``may_pass_on``."""
    if not may_pass_on(principal, wait):
        raise NotFound
    return sign_wait(wait.team_id, wait.pk)


def make_form_token(principal: Principal, wait: RunWait) -> str | None:
    """Return the token by which an API client names a question that it may answer, or None."""
    if is_uncertain(wait.form) or not permissions.may_answer_question(principal, wait):
        return None
    return sign_wait(wait.team_id, wait.pk)


def find_signed_wait(token: str) -> tuple[RunWait, str]:
    """Return the question of a token, open or not, and the address that the token is for.

    Raises NotFound for a token that this server has not signed. The caller checks the right to answer.
    """
    try:
        team_id, wait_id, address = read_signed_wait(token)
    except signing.BadSignature:
        raise NotFound from None
    with tenant([team_id]):
        rows = RunWait.objects.unscoped().filter(pk=wait_id, form__isnull=False)
        wait = rows.first()
        run = Run.objects.unscoped().filter(pk=wait.run_id).first() if wait else None
        if wait is None or run is None or is_uncertain(wait.form):
            raise NotFound
        wait.run = run
    return wait, address


def find_linked_wait(token: str) -> RunWait:
    """Return the question of a link, open or not. Raises NotFound for a link that doesn't lead to it, or no longer does."""
    wait, address = find_signed_wait(token)
    if not (address in list_asked_addresses(wait) if address else wait.admits_link):
        raise NotFound
    return wait


def find_public_asker(wait: RunWait) -> Workflow | None:
    """Return the workflow that asks, if strangers may open its public page, which shows them its name and icon."""
    with tenant([wait.team_id]):
        pages = PublicPage.objects.unscoped().filter(
            workflow=wait.run.workflow_id, access__in=(PageAccess.LINK, PageAccess.PASSWORD)
        )
        page = pages.select_related("workflow").first()
    return page.workflow if page is not None else None


def answer_linked_wait(token: str, *, values: Mapping[str, Json], action: str = "") -> RunWait:
    """Answer the question of a link. Raises as ``answer_wait`` does, without the name of a person who was faster."""
    linked = find_linked_wait(token)
    _team_id, _wait_id, address = read_signed_wait(token)
    with tenant([linked.team_id]):
        actor = f"{EMAIL}{address}" if address else BY_LINK
        wait = store_answer(linked.run_id, linked.pk, values, action, actor)
        # The trail holds no addresses of people without an account.
        audit.record(
            team_id=wait.team_id,
            actor=BY_LINK,
            actor_kind="system",
            action="run.answered",
            subject=f"run:{wait.run_id}",
            detail=describe_answer(wait),
        )
    return wait
