"""``/api/v1/memory/review``, ``…/curations`` and ``…/curation/rules``: learning from runs, and its review."""

from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from config.http.pages import Listing, OwnPages, Pages, Rows, list_uncounted
from memory.api.entries import build_caller
from memory.models import Curation, Proposal
from memory.schemas import curation as schemas
from memory.services.curation import curate, learning_rules
from memory.services.review import proposals


router = Router(auth=api_auth(), tags=["memory"])

PROPOSAL = "/memory/review/{uuid:proposal_id}"


@router.get("/memory/curation/rules", response=schemas.RuleBody)
def read_rule(request: HttpRequest, params: Query[schemas.RuleQuery]) -> schemas.RuleBody:
    """Return the rule for an application's runs: the application's rule or, if there is none, the team's."""
    rule = learning_rules.read_learning_rule(build_caller(request), app_id=params.app)
    return schemas.RuleBody.from_object(rule)


@router.put("/memory/curation/rules", response=schemas.RuleBody)
def write_rule(
    request: HttpRequest, params: Query[schemas.RuleQuery], body: schemas.RuleBody
) -> schemas.RuleBody:
    """Set the rule. ``auto_memory`` enables learning from finished runs, and recalling the result in similar runs."""
    rule = learning_rules.set_learning_rule(
        build_caller(request),
        app_id=params.app,
        learning=learning_rules.LearningRule(**body.dict()),
    )
    return schemas.RuleBody.from_object(rule)


@router.get("/memory/curations", response=list[schemas.CurationOut])
@paginate(Pages)
def list_curations(request: HttpRequest, params: Query[schemas.CurationQuery]) -> Listing[Curation]:
    """List the curations of your own runs and of namespaces you may view, newest first, with the reasons of failures."""
    caller, status = build_caller(request), params.status.value if params.status else None

    def read(offset: int, limit: int) -> list[Curation]:
        return curate.list_curations(caller, status=status, limit=limit, offset=offset)

    return list_uncounted(read, lambda rows: [schemas.curation_out(row) for row in rows])


@router.post("/memory/curations/{uuid:curation_id}/retry", response={202: schemas.CurationOut})
def retry_curation(request: HttpRequest, curation_id: UUID) -> schemas.CurationOut:
    """Retry a failed curation; 409 if it didn't fail."""
    row = curate.retry_curation(build_caller(request), curation_id=curation_id)
    return schemas.curation_out(row)


@router.get("/memory/review", response=schemas.ReviewOut)
@paginate(OwnPages)
def list_proposals(request: HttpRequest, params: Query[schemas.ReviewQuery]) -> Listing[Proposal]:
    """List proposals, the most certain first, with the share of each author's proposals that people accepted."""
    caller = build_caller(request)

    def read(offset: int, limit: int) -> Rows[Proposal]:
        page = proposals.list_proposals(
            caller,
            state=params.state,
            kind=params.kind,
            namespace=params.namespace,
            run_id=params.run,
            limit=limit,
            offset=offset,
        )
        precision = proposals.measure_precision(caller, namespace=params.namespace)
        shares = {
            author: schemas.PrecisionOut.from_object(author_precision)
            for author, author_precision in precision.items()
        }
        return Rows(page.proposals, page.total, extra={"precision": shares})

    return Listing(read, lambda rows: [schemas.proposal_out(row) for row in rows])


@router.get(PROPOSAL, response=schemas.ProposalOut)
def read_proposal(request: HttpRequest, proposal_id: UUID) -> schemas.ProposalOut:
    """Return a proposal with its reason and the changes it would make."""
    row = proposals.get_proposal(build_caller(request), proposal_id=proposal_id)
    return schemas.proposal_out(row)


@router.post(f"{PROPOSAL}/dry-run", response=schemas.ProposalDiffOut)
def dry_run_proposal(request: HttpRequest, proposal_id: UUID) -> schemas.ProposalDiffOut:
    """Preview the changes of the proposal, or the reasons why it can no longer be applied. Nothing is changed."""
    diff = proposals.preview_proposal(build_caller(request), proposal_id=proposal_id)
    return schemas.diff_out(diff)


@router.post(f"{PROPOSAL}/apply", response=schemas.ProposalOut)
def apply_proposal(
    request: HttpRequest, proposal_id: UUID, body: schemas.ApplyIn
) -> schemas.ProposalOut:
    """Apply the whole proposal or nothing. The returned ``change`` undoes it."""
    value = body.dict(exclude_unset=True).get("value", proposals.AS_PROPOSED)
    row = proposals.apply_proposal(
        build_caller(request), proposal_id=proposal_id, value=value, reason=body.reason
    )
    return schemas.proposal_out(row)


@router.post(f"{PROPOSAL}/decide", response=schemas.ProposalOut)
def decide_contradiction(
    request: HttpRequest, proposal_id: UUID, body: schemas.ChoiceIn
) -> schemas.ProposalOut:
    """Decide which of two memories that contradict each other holds. The other stays as a former one; ``undo`` reverts it."""
    row = proposals.decide_contradiction(
        build_caller(request), proposal_id=proposal_id, choice=body.choice, reason=body.reason
    )
    return schemas.proposal_out(row)


@router.post(f"{PROPOSAL}/reject", response=schemas.ProposalOut)
def reject_proposal(
    request: HttpRequest, proposal_id: UUID, body: schemas.RejectIn
) -> schemas.ProposalOut:
    """Reject the proposal. With ``always``, nothing with the same meaning is proposed in its namespace again."""
    row = proposals.reject_proposal(
        build_caller(request), proposal_id=proposal_id, always=body.always, reason=body.reason
    )
    return schemas.proposal_out(row)


@router.post(f"{PROPOSAL}/reopen", response=schemas.ProposalOut)
def reopen_proposal(
    request: HttpRequest, proposal_id: UUID, body: schemas.ReasonIn
) -> schemas.ProposalOut:
    """Return a rejected proposal to the queue."""
    caller = build_caller(request)
    row = proposals.reopen_proposal(caller, proposal_id=proposal_id, reason=body.reason)
    return schemas.proposal_out(row)


@router.post(f"{PROPOSAL}/undo", response=schemas.ProposalOut)
def undo_proposal(
    request: HttpRequest, proposal_id: UUID, body: schemas.ReasonIn
) -> schemas.ProposalOut:
    """Undo an applied proposal. This is refused if one of its entries has been changed since."""
    caller = build_caller(request)
    row = proposals.undo_proposal(caller, proposal_id=proposal_id, reason=body.reason)
    return schemas.proposal_out(row)
