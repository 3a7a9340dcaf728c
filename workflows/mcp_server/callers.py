"""Who calls: the API key of a request, and the person for whom the client is connected.

A client names the person in its address or in a header, never in the arguments of a tool: those are written by a model,
which text that it has read may lead to name somebody else.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, ParamSpec, TypeVar
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.errors import NotAllowed
from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.tenancy import tenant
from config.http.page_threads import run_in_turn
from config.ids import normalize_identifier
from workflows import memory_app, sse
from workflows.errors import InvalidValue
from workflows.idempotent_requests import HEADER
from workflows.models.run import Channel
from workflows.services.runs.runs import resolve_subject
from workflows.tools.mcp import IDEMPOTENCY_META


USER_PARAMETER: Final = "user"
USER_HEADER: Final = "X-Mnemoflow-User"

Json = Any  # JSON
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caller:
    """An API key and its team. ``user`` is the person as the client names them, or None for the program itself.

    ``idempotency_key`` is the client's own name for this request, if it has one.
    """

    principal: Principal
    team_id: UUID
    user: str | None
    base_url: str
    idempotency_key: str | None = None

    @property
    def memory(self) -> "memory_app.MemoryCaller":
        return memory_app.MemoryCaller(self.principal, self.team_id)

    @property
    def own_namespace(self) -> str:
        """Return the namespace of the person's memory, or of the program's without a person."""
        subject = resolve_subject(self.principal, self.user).id
        return memory_app.resolve_namespace("user", {"user_id": subject})

    def allows(self, *scopes: str) -> bool:
        return all(self.principal.allows(scope) for scope in scopes)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a thread, in the tenant of the caller."""
        return await run_in_turn(lambda: self._run(work, *args, **kwargs))

    def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with sse.close_connections(), tenant(self.principal.team_ids), self._name_to_memory():
            return work(*args, **kwargs)

    def _name_to_memory(self) -> AbstractContextManager[None]:
        """Tell memory whose request it is, for the usage of models."""
        if not memory_app.is_on():
            return nullcontext()
        return memory_app.name_request(Channel.MCP, normalize_identifier(self.user or ""))


def read_caller(request: HttpRequest, base_url: str) -> Caller:
    """Return the caller of an authenticated request. Raises NotAllowed if address and header name different persons."""
    names = {
        name.strip()
        for name in (request.GET.get(USER_PARAMETER, ""), request.headers.get(USER_HEADER, ""))
        if name.strip()
    }
    if len(names) > 1:
        raise NotAllowed(_("The address and the header name different users."))
    return Caller(
        get_principal(request),
        get_current_team_id(request),
        next(iter(names), None),
        base_url,
        request.headers.get(HEADER),
    )


def name_call(caller: Caller, meta: Mapping[str, Json] | None) -> Caller:
    """Return the caller with the idempotency key of one call, which stands in the request's header or in the call itself.

    Raises InvalidValue if the two are not the same key.
    """
    key = (meta or {}).get(IDEMPOTENCY_META)
    if key is None:
        return caller
    if not isinstance(key, str):
        raise InvalidValue(
            _("%(name)s: must be text.") % {"name": IDEMPOTENCY_META}, field=IDEMPOTENCY_META
        )
    if caller.idempotency_key not in (None, key):
        message = _("The header %(header)s and %(name)s name different keys.")
        raise InvalidValue(
            message % {"header": HEADER, "name": IDEMPOTENCY_META}, field=IDEMPOTENCY_META
        )
    return replace(caller, idempotency_key=key)
