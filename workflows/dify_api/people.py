"""The end users of an app: whoever a program has named as ``user``."""

from datetime import datetime
from uuid import UUID

from django.db.models import CharField, F, Max, Min, UUIDField, Value
from django.db.models.functions import MD5, Cast, Concat

from workflows.dify_api.apps import App
from workflows.dify_api.errors import DifyError, parse_uuid
from workflows.engine.language.document import Json
from workflows.models import Run


def find_end_user(app: App, text: str) -> dict[str, Json]:
    """Return an end user by the id that answers and logs name. Raises DifyError for anybody else's."""
    end_user_id = parse_uuid(text)
    person = _find_person(app, end_user_id) if end_user_id else None
    if person is None:
        raise DifyError(404, "end_user_not_found", "End user not found.")
    subject, first, last = person
    return {
        "id": str(end_user_id),
        "tenant_id": str(app.workflow.team_id),
        "app_id": str(app.workflow.pk),
        "type": "service_api",
        "external_user_id": subject,
        "name": subject,
        "is_anonymous": False,
        "session_id": subject,
        "created_at": first.isoformat(),
        "updated_at": last.isoformat(),
    }


def _find_person(app: App, end_user_id: UUID) -> tuple[str, datetime, datetime] | None:
    """Return the person's name, and when they used the app first and last."""
    rows = Run.objects.visible_to(app.principal).filter(workflow=app.workflow).order_by()
    name = Concat(Value(f"{app.workflow.pk}:"), F("subject"), output_field=CharField())
    people = rows.annotate(end_user=Cast(MD5(name), UUIDField())).filter(end_user=end_user_id)
    times = people.values("subject").annotate(first=Min("created_at"), last=Max("created_at"))
    return times.order_by("subject").values_list("subject", "first", "last").first()
