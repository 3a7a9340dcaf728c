"""``/api/v1/memory/subjects/…``: what is remembered about who asks, and pauses: one's own, and an outside person's."""

from django.http import HttpRequest
from ninja import Router

from accounts.auth import api_auth
from memory import schemas_me, services
from memory.about import about
from memory.api import caller_of


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/subjects/me", response=schemas_me.AboutMeOut)
def about_me(request: HttpRequest, text: str = "") -> schemas_me.AboutMeOut:
    """Newest first, yours and your test persons'; where each was learnt, and how often it was used."""
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


@router.get("/memory/subjects/{subject}/pause", response=schemas_me.SubjectPauseOut)
def read_pause(request: HttpRequest, subject: str) -> schemas_me.SubjectPauseOut:
    """What somebody told memory to leave off, by your own id for them."""
    found = services.pause_for(caller_of(request), subject=subject)
    return schemas_me.SubjectPauseOut(pause=schemas_me.pause_out(found) if found else None)


@router.post("/memory/subjects/{subject}/pause", response=schemas_me.PauseOut)
def pause_subject(
    request: HttpRequest, subject: str, body: schemas_me.PauseIn
) -> schemas_me.PauseOut:
    """For an outside person, by the key that names them: their runs leave it off from now on."""
    done = services.pause(caller_of(request), what=body.what, until=body.until, subject=subject)
    return schemas_me.pause_out(done)


@router.post("/memory/subjects/{subject}/resume", response=schemas_me.ResumedOut)
def resume_subject(request: HttpRequest, subject: str) -> schemas_me.ResumedOut:
    """The pause ends now."""
    return schemas_me.ResumedOut(resumed=services.resume(caller_of(request), subject=subject))
