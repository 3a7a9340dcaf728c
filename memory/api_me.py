"""``/api/v1/memory/subjects/me``: what is remembered about who asks, and their pause."""

from django.http import HttpRequest
from ninja import Router

from accounts.auth import api_auth
from config.schema import refuse_unknown
from memory import schemas_me, services
from memory.about import about
from memory.api import caller_of


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/subjects/me", response=schemas_me.AboutMeOut)
def about_me(request: HttpRequest, text: str = "") -> schemas_me.AboutMeOut:
    """Newest first, yours and your test persons'; where each was learnt, and how often it was used."""
    refuse_unknown(request, ["text"])
    return schemas_me.me_out(about(caller_of(request), text=text[:200]))


@router.post("/memory/subjects/me/pause", response=schemas_me.PauseOut)
def pause_me(request: HttpRequest, body: schemas_me.PauseIn) -> schemas_me.PauseOut:
    """Runs and keys leave it off from now on; you still see, correct and forget by hand."""
    done = services.pause(caller_of(request), what=body.what, until=body.until)
    return schemas_me.pause_out(done)


@router.post("/memory/subjects/me/resume", response=schemas_me.ResumedOut)
def resume_me(request: HttpRequest) -> schemas_me.ResumedOut:
    """The pause ends now."""
    return schemas_me.ResumedOut(resumed=services.resume(caller_of(request)))
