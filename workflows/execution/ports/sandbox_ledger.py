"""The ledger of a dry run: its memory changes as rows. It implements memory's ``Ledger``."""

from collections.abc import Sequence
from uuid import UUID

from accounts.tenancy import tenant
from workflows import memory_app
from workflows.models import DryRunChange


class Ledger:
    def __init__(self, team_id: UUID, run_id: UUID) -> None:
        self._team_id, self._run_id = team_id, run_id

    def load(self) -> "list[memory_app.SandboxChange]":
        with tenant([self._team_id]):
            rows = DryRunChange.objects.unscoped().filter(run_id=self._run_id).order_by("number")
            return [build_change(row) for row in rows]

    def add(self, changes: "Sequence[memory_app.SandboxChange]") -> None:
        with tenant([self._team_id]):
            rows = DryRunChange.objects.unscoped().filter(run_id=self._run_id)
            first = rows.count() + 1
            DryRunChange.objects.unscoped().bulk_create(
                DryRunChange(
                    team_id=self._team_id,
                    run_id=self._run_id,
                    number=number,
                    node_key=change.node_id,
                    origin_key=change.origin_key,
                    operation=change.operation,
                    scope=change.scope,
                    namespace=change.namespace,
                    key=change.key,
                    entry=change.entry,
                    before=change.before,
                )
                for number, change in enumerate(changes, start=first)
            )


def build_change(row: DryRunChange) -> "memory_app.SandboxChange":
    return memory_app.SandboxChange(
        operation="store" if row.operation == DryRunChange.Operation.STORE else "forget",
        scope=row.scope,
        namespace=row.namespace,
        key=row.key,
        node_id=row.node_key,
        origin_key=row.origin_key,
        entry=row.entry,
        before=row.before,
    )
