"""``/api/v1/memory/learning``: what runs learned, and which later runs used it."""

from django.http import HttpRequest
from ninja import Query, Router

from accounts.http.auth import api_auth
from memory.api.entries import build_caller
from memory.host import RunFilter, get_host
from memory.schemas import learning as schemas
from memory.services.history.learning import MAX_RUNS, load_key_lessons, load_learning


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/learning", response=schemas.LearningPictureOut)
def read_learning(
    request: HttpRequest, params: Query[schemas.LearningQuery]
) -> schemas.LearningPictureOut:
    """Return the newest runs that you may see, at most 500, what they wrote to memory that you may view, and the later
    runs among them that used it.

    Runs that keys started are in the picture of their service account. Whoever manages the keys gets counts of what they
    taught.
    """
    caller = build_caller(request)
    run_filter = RunFilter(
        workflow=str(params.workflow or ""),
        person=params.person,
        service_account=str(params.service_account or ""),
        since=params.since,
        until=params.until,
    )
    keys = load_key_lessons(caller, run_filter)
    newest = get_host().list_team_runs(caller.principal, caller.team_id, run_filter, MAX_RUNS + 1)
    runs = newest[:MAX_RUNS]
    learning = load_learning(caller, run_ids=[run.id for run in runs])
    return schemas.LearningPictureOut(
        runs=list(map(schemas.run_out, runs)),
        lessons=list(map(schemas.lesson_out, learning.lessons)),
        uses=list(map(schemas.use_out, learning.uses)),
        is_all=len(newest) <= MAX_RUNS and learning.is_all,
        keys=list(map(schemas.key_out, keys)),
    )
