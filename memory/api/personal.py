"""``/api/v1/memory/subjects/…``: what is remembered about who asks, and pauses: one's own, and an outside person's."""

from django.http import HttpRequest
from ninja import Router

from accounts.http.auth import api_auth
from memory import services
from memory.api.entries import caller_of
from memory.personal import load_personal_memory
from memory.schemas import personal


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/subjects/me", response=personal.AboutMeOut)
def about_me(request: HttpRequest, text: str = "") -> personal.AboutMeOut:
    """Newest first, yours and your test persons'; where each was learnt, and how often it was used."""
    return personal.me_out(load_personal_memory(caller_of(request), text=text[:200]))


@router.post("/memory/subjects/me/pause", response=personal.PauseOut)
def pause_me(request: HttpRequest, body: personal.PauseIn) -> personal.PauseOut:
    """Runs and keys leave it off from now on; you still see, correct and forget by hand."""
    done = services.pause(caller_of(request), what=body.what, until=body.until)
    return personal.pause_out(done)


@router.post("/memory/subjects/me/resume", response=personal.ResumedOut)
def resume_me(request: HttpRequest) -> personal.ResumedOut:
    """The pause ends now."""
    return personal.ResumedOut(resumed=services.resume(caller_of(request)))


@router.get("/memory/subjects/{subject}/pause", response=personal.SubjectPauseOut)
def read_pause(request: HttpRequest, subject: str) -> personal.SubjectPauseOut:
    """What somebody told memory to leave off, by your own id for them."""
    found = services.get_subject_pause(caller_of(request), subject=subject)
    return personal.SubjectPauseOut(pause=personal.pause_out(found) if found else None)


@router.post("/memory/subjects/{subject}/pause", response=personal.PauseOut)
def pause_subject(request: HttpRequest, subject: str, body: personal.PauseIn) -> personal.PauseOut:
    """For an outside person, by the key that names them: their runs leave it off from now on."""
    done = services.pause(caller_of(request), what=body.what, until=body.until, subject=subject)
    return personal.pause_out(done)


@router.post("/memory/subjects/{subject}/resume", response=personal.ResumedOut)
def resume_subject(request: HttpRequest, subject: str) -> personal.ResumedOut:
    """The pause ends now."""
    return personal.ResumedOut(resumed=services.resume(caller_of(request), subject=subject))
