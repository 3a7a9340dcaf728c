"""``/api/v1/memory/subjects/…``: memory about the caller, and pauses of the caller and of external users."""

from django.http import HttpRequest
from ninja import Router

from accounts.http.auth import api_auth
from memory import services
from memory.api.entries import build_caller
from memory.personal import load_personal_memory
from memory.schemas import personal


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/subjects/me", response=personal.AboutMeOut)
def about_me(request: HttpRequest, text: str = "") -> personal.AboutMeOut:
    """List memories about you and your test users, newest first, each with its run and the number of its uses."""
    return personal.about_me_out(load_personal_memory(build_caller(request), text=text[:200]))


@router.post("/memory/subjects/me/pause", response=personal.PauseOut)
def pause_me(request: HttpRequest, body: personal.PauseIn) -> personal.PauseOut:
    """Pause your memory for runs and keys. You can still view, correct and forget it by hand."""
    state = services.pause(build_caller(request), what=body.what, until=body.until)
    return personal.PauseOut.from_object(state)


@router.post("/memory/subjects/me/resume", response=personal.ResumedOut)
def resume_me(request: HttpRequest) -> personal.ResumedOut:
    """End the pause of your memory now."""
    return personal.ResumedOut(resumed=services.resume(build_caller(request)))


@router.get("/memory/subjects/{path:subject}/pause", response=personal.SubjectPauseOut)
def read_pause(request: HttpRequest, subject: str) -> personal.SubjectPauseOut:
    """Return the pause of an external user's memory, by the id that your application uses. Requires an API key."""
    state = services.get_subject_pause(build_caller(request), subject=subject)
    return personal.SubjectPauseOut(pause=personal.PauseOut.from_object(state) if state else None)


@router.post("/memory/subjects/{path:subject}/pause", response=personal.PauseOut)
def pause_subject(request: HttpRequest, subject: str, body: personal.PauseIn) -> personal.PauseOut:
    """Pause an external user's memory, by the id that your application uses. Requires an API key."""
    state = services.pause(build_caller(request), what=body.what, until=body.until, subject=subject)
    return personal.PauseOut.from_object(state)


@router.post("/memory/subjects/{path:subject}/resume", response=personal.ResumedOut)
def resume_subject(request: HttpRequest, subject: str) -> personal.ResumedOut:
    """End the pause of an external user's memory now. Requires an API key."""
    return personal.ResumedOut(resumed=services.resume(build_caller(request), subject=subject))
