"""The isolation of teams: the base of every tenant row, and the only module that sets the visible teams in PostgreSQL.

The setting is always transaction-local. A session-level ``SET`` would show one user's rows to the next user of a
pooled connection.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import Any, ClassVar, NoReturn, Protocol, Self, TypeVar
from uuid import UUID

from django.db import (
    DEFAULT_DB_ALIAS,
    OperationalError,
    connections,
    migrations,
    models,
    transaction,
)

from accounts.errors import UnscopedQuery
from config.ids import uuid7


APP_ROLE = "mnemoflow_app"
TEAMS_SETTING = "mnemoflow.team_ids"
LOOKUP_SETTING = "mnemoflow.lookup"
SET_LOCALLY = "SELECT set_config(%s, %s, true)"

# The ``workflow_lookup`` of models that are no part of workflows, such as memberships and memories.
OUTSIDE_WORKFLOWS = "-"

M = TypeVar("M", bound=models.Model)


@contextmanager
def tenant(team_ids: Iterable[UUID], *, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Show only these teams' rows until the block ends; the block is one transaction.

    A nested block replaces the outer teams and restores them at its end. When a block fails, its savepoint is rolled
    back, and PostgreSQL itself restores the outer setting. ``run_at_end`` and ``run_after_failure`` register functions
    that the outermost block calls.
    """
    value = _write_team_ids(team_ids)
    outer_value = _read_current_setting(TEAMS_SETTING, using)
    outermost = using == DEFAULT_DB_ALIAS and not outer_value
    rescue_work: list[Work] = []
    try:
        with _apply_teams(value, outer_value, using=using):
            try:
                yield
            except OperationalError:  # a retry of the transaction records its refusals again
                raise
            except Exception:
                rescue_work = _collect_rescue_work(outermost)
                raise
            if connections[using].needs_rollback:
                rescue_work = _collect_rescue_work(outermost)
            elif outermost:
                for work in _WORK_AT_END:
                    work()
    finally:
        for work in rescue_work:
            work()


@contextmanager
def reading(team_ids: Iterable[UUID]) -> Iterator[None]:
    """Show only these teams' rows for a block that writes nothing. Where they alone are visible already, it costs nothing.

    There it has no savepoint: after an error of the database, the transaction around it can't go on.
    """
    with joined_tenant(team_ids):
        yield


@contextmanager
def joined_tenant(team_ids: Iterable[UUID]) -> Iterator[None]:
    """Show only these teams' rows for a block whose changes are kept or taken back with those of the block around it.

    Where they alone are visible already, it costs nothing. There it has no savepoint, so that whoever catches an error of
    the block and goes on keeps what it had changed.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    value = _write_team_ids(team_ids)
    if connection.in_atomic_block and value == _read_current_setting(
        TEAMS_SETTING, DEFAULT_DB_ALIAS
    ):
        yield
        return
    with tenant(team_ids):
        yield


Work = Callable[[], None]


def run_at_end(work: Work) -> None:
    """Run ``work`` when an outermost ``tenant`` ends without an error, still in its transaction."""
    _WORK_AT_END.append(work)


def run_after_failure(rescue: Callable[[], Work]) -> None:
    """Call ``rescue`` before an outermost ``tenant`` is rolled back, and call the function that it returns afterwards.

    After an ``OperationalError`` neither is called, because the caller retries the whole transaction.
    """
    _RESCUES.append(rescue)


_WORK_AT_END: list[Work] = []
_RESCUES: list[Callable[[], Work]] = []


def _collect_rescue_work(outermost: bool) -> list[Work]:
    return [rescue() for rescue in _RESCUES] if outermost else []


@contextmanager
def lookup(key: str, *, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Show only the rows with this key until the block ends: a user's memberships, or the row with this secret's hash.

    It is for reads before the team is known. The tables are those that ``enable_rls`` got an ``also_by`` for.
    """
    with _apply_setting(LOOKUP_SETTING, key, using=using):
        yield


def lookup_each(keys: Iterable[str], *, using: str = DEFAULT_DB_ALIAS) -> Iterator[str]:
    """Yield each key while only its rows are visible, as in ``lookup``, in one transaction for all of them."""
    keys = [*keys]
    if not keys:
        return
    with _apply_setting(LOOKUP_SETTING, keys[0], using=using):
        yield keys[0]
        for key in keys[1:]:
            _write_setting(LOOKUP_SETTING, key, using)
            yield key


def fetch_by_key(
    statement: str, key: str, *, using: str = DEFAULT_DB_ALIAS
) -> list[tuple[Any, ...]]:
    """Return the rows that a statement finds for the key, its parameter, while only the key's rows are visible.

    Outside a transaction it takes one round trip: the statements of one message are a transaction of their own.
    """
    if connections[using].in_atomic_block:
        with lookup(key, using=using), connections[using].cursor() as cursor:
            cursor.execute(statement, [key])
            return list(cursor.fetchall())
    with connections[using].cursor() as cursor:
        cursor.execute(f"{SET_LOCALLY}; {statement}", [LOOKUP_SETTING, key, key])
        cursor.nextset()
        return list(cursor.fetchall())


def fetch_each(
    statement: str, keys: Iterable[str], *, using: str = DEFAULT_DB_ALIAS
) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows that a statement finds for each key, its parameter, while only the key's rows are visible.

    All statements are sent together: each round trip of a thread waits for its turn with the event loop.
    """
    cursors = {}
    with _apply_setting(LOOKUP_SETTING, "", using=using):
        connection = connections[using].connection
        with connection.pipeline():
            for key in keys:
                connection.execute(SET_LOCALLY, [LOOKUP_SETTING, key])
                cursors[key] = connection.execute(statement, [key])
        return {key: cursor.fetchall() for key, cursor in cursors.items()}


def get_current_team_ids(*, using: str = DEFAULT_DB_ALIAS) -> frozenset[UUID]:
    """Return the ids of the visible teams of this transaction."""
    value = _read_current_setting(TEAMS_SETTING, using).strip("{}")
    return frozenset(UUID(team_id) for team_id in value.split(",") if team_id)


class HasTeams(Protocol):
    """The attributes of a principal that this module needs."""

    @property
    def team_ids(self) -> frozenset[UUID]: ...
    @property
    def workflow_id(self) -> UUID | None: ...


class TenantQuerySet(models.QuerySet[M]):
    """Rows of tenants; a model with finer rules overrides ``visible_to`` to narrow them further."""

    def visible_to(self, principal: HasTeams) -> Self:
        rows = self.filter(team_id__in=principal.team_ids)
        lookup: str | None = getattr(self.model, "workflow_lookup", OUTSIDE_WORKFLOWS)
        if principal.workflow_id is None or lookup == OUTSIDE_WORKFLOWS:
            return rows
        return rows.filter(**{lookup: principal.workflow_id}) if lookup else rows.none()


class TenantManager(models.Manager[M]):
    """A manager whose ``Model.objects.visible_to(principal)`` finds rows and checks access in one call.

    For a custom queryset: ``objects = TenantManager.from_queryset(YourQuerySet)()``. Related managers
    (``namespace.entries``) are not restricted, because they start from a row that was checked already.
    """

    def contribute_to_class(self, cls: type[models.Model], name: str) -> None:
        super().contribute_to_class(cls, name)
        setattr(cls, name, _GuardedManager(name))

    def get_queryset(self) -> TenantQuerySet[M]:
        # from_queryset() sets its class here; a plain TenantManager has Django's class.
        queryset: type[Any] = getattr(self, "_queryset_class", TenantQuerySet)
        queryset_class = queryset if issubclass(queryset, TenantQuerySet) else TenantQuerySet
        return queryset_class(self.model, using=self._db, hints=getattr(self, "_hints", {}))

    def visible_to(self, principal: HasTeams) -> TenantQuerySet[M]:
        return self.get_queryset().visible_to(principal)

    def unscoped(self) -> TenantQuerySet[M]:
        """Return every row that the database shows, for migrations, upkeep, and services that have checked access."""
        return self.get_queryset()


class _GuardedManager:
    """The descriptor behind ``Model.objects``. Its manager refuses unscoped queries; Django's ``_default_manager`` doesn't."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: models.Model | None, owner: type[models.Model]) -> Any:
        if instance is not None or owner._meta.abstract:
            raise AttributeError(f"{self.name} is available on concrete models only, not on rows")
        guarded = copy.copy(owner._meta.managers_map[self.name])
        manager_class: Any = type(guarded)  # Any: a class is hashable, mypy looks at its instances
        guarded.__class__ = _make_guarded_class(manager_class)
        return guarded


@cache
def _make_guarded_class(manager_class: type[models.Manager[Any]]) -> type[models.Manager[Any]]:
    refusals = {name: _make_refusal(name) for name in REFUSED_METHODS}
    return type(manager_class.__name__, (manager_class,), refusals)


def _make_refusal(name: str) -> Any:
    def refuse(self: models.Manager[Any], *args: object, **kwargs: object) -> NoReturn:
        raise UnscopedQuery(
            f"{self.model.__name__}.objects.{name}: say visible_to(principal) or unscoped() first."
        )

    return refuse


# fmt: off
# All methods that read or change many rows without naming a principal.
REFUSED_METHODS = (
    "all", "filter", "exclude", "get", "first", "last", "earliest", "latest", "count", "exists",
    "contains", "iterator", "in_bulk", "values", "values_list", "dates", "datetimes",
    "order_by", "reverse", "distinct", "annotate", "alias", "aggregate", "only", "defer",
    "select_related", "prefetch_related", "select_for_update", "extra", "raw", "union",
    "intersection", "difference", "update", "delete", "get_or_create", "update_or_create",
    "bulk_update", "aget", "afirst", "alast", "aearliest", "alatest", "acount", "aexists",
    "acontains", "aiterator", "ain_bulk", "aaggregate", "aupdate", "adelete", "aget_or_create",
    "aupdate_or_create", "abulk_update",
)
# fmt: on


class TenantModel(models.Model):
    """A row that belongs to a team."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey("accounts.Team", on_delete=models.PROTECT, related_name="+")

    # The lookup from a row to its workflow. An API key that is bound to a workflow finds only the rows of this
    # workflow. With None it finds no rows, because they concern several workflows.
    workflow_lookup: ClassVar[str | None] = OUTSIDE_WORKFLOWS

    # The first manager is what Django's own machinery uses (related managers, admin, unique checks).
    _unscoped = models.Manager()
    objects = TenantManager()

    class Meta:
        abstract = True


def enable_rls(
    table: str, *, grants: str = "SELECT, INSERT, UPDATE, DELETE", also_by: str | None = None
) -> migrations.RunSQL:
    """Return the reversible migration that enables row-level security on ``table`` and grants the app role privileges.

    ``also_by`` names a column by whose value ``lookup`` may read rows before the team is known. The settings are read
    in sub-selects, so that they are computed once per query instead of once per row.
    """
    condition = "team_id = ANY ((SELECT mnemoflow_team_ids())::uuid[])"
    forward = [
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY tenant ON {table} USING ({condition}) WITH CHECK ({condition})",
        f"REVOKE ALL ON {table} FROM {APP_ROLE}",
        f"GRANT {grants} ON {table} TO {APP_ROLE}",
    ]
    reverse = [
        f"REVOKE ALL ON {table} FROM {APP_ROLE}",
        f"DROP POLICY tenant ON {table}",
        f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
    ]
    if also_by:
        key = f"(SELECT nullif(current_setting('{LOOKUP_SETTING}', true), ''))"
        forward.append(
            f"CREATE POLICY by_{also_by} ON {table} FOR SELECT USING ({also_by}::text = {key})"
        )
        reverse.insert(0, f"DROP POLICY by_{also_by} ON {table}")
    return migrations.RunSQL(sql=[*forward], reverse_sql=[*reverse])


def grant_table(table: str, grants: str = "SELECT, INSERT, UPDATE, DELETE") -> migrations.RunSQL:
    """Return the migration that grants the app role privileges on a table that belongs to no team."""
    return migrations.RunSQL(
        sql=[f"REVOKE ALL ON {table} FROM {APP_ROLE}", f"GRANT {grants} ON {table} TO {APP_ROLE}"],
        reverse_sql=[f"REVOKE ALL ON {table} FROM {APP_ROLE}"],
    )


def _write_team_ids(team_ids: Iterable[UUID]) -> str:
    """Return the ids as PostgreSQL writes an array."""
    return "{" + ",".join(sorted(str(UUID(str(team_id))) for team_id in team_ids)) + "}"


def _apply_teams(value: str, outer_value: str, *, using: str) -> AbstractContextManager[None]:
    """Return the block in which these teams are visible. Services call each other for the teams that are visible already."""
    if value == outer_value:
        return transaction.atomic(using=using)
    return _apply_setting(TEAMS_SETTING, value, using=using)


@contextmanager
def _apply_setting(name: str, value: str, *, using: str) -> Iterator[None]:
    connection: Any = connections[using]  # Any: Django's type doesn't know our backend
    outer_value = _read_current_setting(name, using)
    is_transaction = connection.get_autocommit()  # whose end clears set_config
    settings = _get_stored_settings(using)
    with ExitStack() as stack:
        if is_transaction:
            stack.enter_context(transaction.atomic(using=using))
            _write_setting(name, value, using)
        else:
            with connection.sending_with_savepoint(SET_LOCALLY, [name, value]):
                stack.enter_context(transaction.atomic(using=using))
            settings[name] = value
        try:
            yield
        finally:
            settings[name] = outer_value  # before work after the commit begins a transaction
        # Otherwise, the rollback to the savepoint undoes set_config.
        if not is_transaction and not connection.needs_rollback:
            with connection.sending_with_savepoint(SET_LOCALLY, [name, outer_value]):
                stack.close()


def _write_setting(name: str, value: str, using: str) -> None:
    with connections[using].cursor() as cursor:
        cursor.execute(SET_LOCALLY, [name, value])
    _get_stored_settings(using)[name] = value


def _read_current_setting(name: str, using: str) -> str:
    # The copy may be outdated outside a transaction, where no setting is active.
    return _get_stored_settings(using).get(name, "") if connections[using].in_atomic_block else ""


def _get_stored_settings(using: str) -> dict[str, str]:
    """Return the copy of the active settings, which is stored on the connection to save queries."""
    connection: Any = connections[using]  # Any: a private attribute on Django's wrapper
    if not hasattr(connection, "mnemoflow_settings"):
        connection.mnemoflow_settings = {}
    settings: dict[str, str] = connection.mnemoflow_settings
    return settings
