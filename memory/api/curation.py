"""``/api/v1/memory/review``, ``…/curations`` and ``…/curation/rules``: how memory learns, and who looks at it."""

from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Status

from accounts.http.auth import api_auth
from memory.api.entries import caller_of
from memory.schemas import curation as schemas
from memory.services.curation import curate, learning_rules
from memory.services.review import proposals


router = Router(auth=api_auth(), tags=["memory"])

ITEM = "/memory/review/{uuid:proposal_id}"


@router.get("/memory/curation/rules", response=schemas.RuleBody)
def read_rule(request: HttpRequest, asked: Query[schemas.RuleQuery]) -> schemas.RuleBody:
    """What holds for an application's runs: its own rule, else the team's."""
    return schemas.rule_out(learning_rules.read_learning_rule(caller_of(request), app_id=asked.app))


@router.put("/memory/curation/rules", response=schemas.RuleBody)
def write_rule(
    request: HttpRequest, asked: Query[schemas.RuleQuery], body: schemas.RuleBody
) -> schemas.RuleBody:
    """``auto_memory`` is the switch: learn from finished runs, and remind the next similar one."""
    learning = schemas.learning_in(body)
    return schemas.rule_out(
        learning_rules.set_learning_rule(caller_of(request), app_id=asked.app, learning=learning)
    )


@router.get("/memory/curations", response=list[schemas.CurationOut])
def list_curations(
    request: HttpRequest, asked: Query[schemas.CurationQuery]
) -> list[schemas.CurationOut]:
    """Of your own runs, and of namespaces you may look into; newest first, failures with their reason."""
    found = curate.list_curations(
        caller_of(request),
        status=asked.status.value if asked.status else None,
        limit=asked.limit,
        offset=asked.offset,
    )
    return [schemas.curation_out(row) for row in found]


@router.post("/memory/curations/{uuid:curation_id}/retry", response={202: schemas.CurationOut})
def retry_curation(request: HttpRequest, curation_id: UUID) -> Status[schemas.CurationOut]:
    """409 unless it failed."""
    row = curate.retry_curation(caller_of(request), curation_id=curation_id)
    return Status(202, schemas.curation_out(row))


@router.get("/memory/review", response=schemas.ReviewOut)
def review(request: HttpRequest, asked: Query[schemas.ReviewQuery]) -> schemas.ReviewOut:
    """The queue, the surest first, and how often people agreed with who proposed."""
    caller = caller_of(request)
    page = proposals.list_proposals(
        caller,
        state=asked.state,
        kind=asked.kind,
        namespace=asked.namespace,
        run_id=asked.run,
        limit=asked.limit,
        offset=asked.offset,
    )
    precision = proposals.measure_precision(caller, namespace=asked.namespace)
    return schemas.ReviewOut(
        proposals=[schemas.proposal_out(row) for row in page.proposals],
        total=page.total,
        offset=page.offset,
        precision={by: schemas.precision_out(found) for by, found in precision.items()},
    )


@router.get(ITEM, response=schemas.ProposalOut)
def read_proposal(request: HttpRequest, proposal_id: UUID) -> schemas.ProposalOut:
    """What is proposed, why, and what it would change."""
    return schemas.proposal_out(proposals.get_proposal(caller_of(request), proposal_id=proposal_id))


@router.post(f"{ITEM}/dry-run", response=schemas.ProposalDiffOut)
def dry_run_proposal(request: HttpRequest, proposal_id: UUID) -> schemas.ProposalDiffOut:
    """What applying would do now, or why it no longer can. Nothing is changed."""
    return schemas.diff_out(proposals.preview_proposal(caller_of(request), proposal_id=proposal_id))


@router.post(f"{ITEM}/apply", response=schemas.ProposalOut)
def apply_proposal(
    request: HttpRequest, proposal_id: UUID, body: schemas.ApplyIn
) -> schemas.ProposalOut:
    """All of it or nothing; ``change`` undoes it as one."""
    given = body.dict(exclude_unset=True)
    row = proposals.apply_proposal(
        caller_of(request),
        proposal_id=proposal_id,
        value=given.get("value", proposals.AS_PROPOSED),
        reason=body.reason,
    )
    return schemas.proposal_out(row)


@router.post(f"{ITEM}/reject", response=schemas.ProposalOut)
def reject_proposal(
    request: HttpRequest, proposal_id: UUID, body: schemas.RejectIn
) -> schemas.ProposalOut:
    """It changes nothing. ``always``: nothing that means the same is proposed there again."""
    row = proposals.reject_proposal(
        caller_of(request), proposal_id=proposal_id, always=body.always, reason=body.reason
    )
    return schemas.proposal_out(row)


@router.post(f"{ITEM}/reopen", response=schemas.ProposalOut)
def reopen_proposal(
    request: HttpRequest, proposal_id: UUID, body: schemas.ReasonIn
) -> schemas.ProposalOut:
    """What was rejected waits again."""
    row = proposals.reopen_proposal(caller_of(request), proposal_id=proposal_id, reason=body.reason)
    return schemas.proposal_out(row)


@router.post(f"{ITEM}/undo", response=schemas.ProposalOut)
def undo_proposal(
    request: HttpRequest, proposal_id: UUID, body: schemas.ReasonIn
) -> schemas.ProposalOut:
    """Everything as it was before it was applied, unless somebody changed it since."""
    row = proposals.undo_proposal(caller_of(request), proposal_id=proposal_id, reason=body.reason)
    return schemas.proposal_out(row)
