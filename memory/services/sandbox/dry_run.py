"""The store of a dry run: a copy of a namespace, and a ledger of the changes that the run would make."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from memory.core.entry_codec import ENTRY, from_json, to_json
from memory.core.filters import build_filter_document, matches, parse_filter
from memory.core.identifiers import normalize_key
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams
from memory.providers.in_memory import InMemoryProvider
from memory.providers.postgres import rows
from memory.services.gateway.namespace_access import NamespaceAccess


Operation = Literal["store", "forget"]

STORE: Literal["store"] = "store"
FORGET: Literal["forget"] = "forget"
_JSON_FIELDS = tuple(name for name in ENTRY if name not in ("score", "source", "explain"))


@dataclass(frozen=True, slots=True)
class SandboxChange:
    """A change that a dry run would make, with the entry as JSON: ``before`` is None for a new entry, ``entry`` for a
    forgotten one.
    """

    operation: Operation
    scope: str
    namespace: str
    key: str
    node_id: str
    origin_key: str
    entry: Mapping[str, Json] | None = None
    before: Mapping[str, Json] | None = None


class Ledger(Protocol):
    """Stores the changes that a run would make, in order. Its methods are called within the gateway's transaction."""

    def load(self) -> Sequence[SandboxChange]: ...
    def add(self, changes: Sequence[SandboxChange]) -> None: ...


class DryRunChanges:
    """The changes of a dry run in all namespaces, read from the ledger once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._loaded: list[SandboxChange] | None = None

    def list_of_namespace(self, namespace: str) -> list[SandboxChange]:
        if self._loaded is None:
            self._loaded = list(self._ledger.load())
        return [change for change in self._loaded if change.namespace == namespace]

    def add(self, change: SandboxChange) -> None:
        self.list_of_namespace(
            change.namespace
        )  # loaded first: afterwards the ledger has the new change
        self._ledger.add([change])
        if self._loaded is not None:
            self._loaded.append(change)


class DryRunStore(InMemoryProvider):
    """A copy of a namespace for a dry run. Each change is stored in the ledger before the step gets its result.

    The copy is made of the real entries and the run's earlier changes, so that it can be made again after a crash.
    """

    def __init__(self, access: NamespaceAccess, scope: str, changes: DryRunChanges) -> None:
        super().__init__(policy=access.policy)
        self._scope = scope
        self._changes = changes
        self._copied_revisions: frozenset[tuple[str, int]] = (
            frozenset()
        )  # (id, revision) of the copied entries
        self.begin_operation(access)
        self._copy_entries()
        self._apply_changes()

    def begin_operation(self, access: NamespaceAccess) -> None:
        """Use the access of a step's operation for the calls that follow."""
        self._access = access
        self._written_keys: set[str] = set()  # by this operation

    def store(self, params: StoreParams) -> MemoryEntry:
        """Store an entry in the copy. A step that is repeated after a crash gets the entry that it stored before."""
        key = params.key
        origin_key = "" if key in self._written_keys else self._access.caller.origin.idempotency_key
        self._written_keys.add(key)
        changes = self._changes.list_of_namespace(self._access.text)
        latest = next((change for change in reversed(changes) if change.key == key), None)
        if latest and latest.entry and origin_key and latest.origin_key == origin_key:
            return entry_from_json(latest.entry)
        before = self.living(self._access.text).get(normalize_key(key))
        entry = super().store(params)
        stored = {**entry_to_json(entry), "ttl_seconds": params.ttl_seconds}
        self._add_change(STORE, key, stored, before, origin_key)
        return entry

    def delete(self, namespace: str, key: str) -> bool:
        before = self.living(namespace).get(normalize_key(key))
        if before is None:
            return False
        self._written_keys.discard(key)
        super().delete(namespace, key)
        self._add_change(FORGET, key, None, before, self._access.caller.origin.idempotency_key)
        return True

    def forget(self, key: str | None, filter_: Mapping[str, Json] | None) -> int:
        """Forget the entries that a key or a filter selects. Return their number, the same if the step is repeated."""
        origin_key = self._access.caller.origin.idempotency_key
        forgotten_before = sum(
            change.operation == FORGET and change.origin_key == origin_key
            for change in self._changes.list_of_namespace(self._access.text)
            if origin_key
        )
        condition = parse_filter(filter_)
        selected = [
            entry
            for entry in self.living(self._access.text).values()
            if not forgotten_before
            and (key is None or entry.key == normalize_key(key))
            and matches(condition, build_filter_document(entry))
        ]
        for entry in sorted(selected, key=lambda entry: entry.id):
            self.delete(self._access.text, entry.key)
        return forgotten_before or len(selected)

    def list_unchanged(self, entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
        """Return those of the entries that equal a real one, because the run hasn't changed them."""
        return [entry for entry in entries if (entry.id, entry.revision) in self._copied_revisions]

    def _copy_entries(self) -> None:
        """Copy the real entries of the namespace."""
        text, row = self._access.text, self._access.target.row
        if self._access.external is not None:
            # External entries have no rows in this database, so reads of them can't be recorded.
            full_query = MemoryQuery(text, include_former=True)
            self.adopt(self._access.external.provider.recall(full_query) if row else [])
        elif row is not None:
            entries = [rows.build_entry(entry, text) for entry in rows.find_living(row)]
            self._copied_revisions = frozenset((entry.id, entry.revision) for entry in entries)
            self.adopt(entries)
            self.reserve_positions(text, rows.load_last_positions(row))

    def _apply_changes(self) -> None:
        """Apply the earlier changes of the run."""
        for change in self._changes.list_of_namespace(self._access.text):
            if change.entry is not None:
                self.adopt([entry_from_json(change.entry)])
            else:
                super().delete(change.namespace, change.key)

    def _add_change(
        self,
        operation: Operation,
        key: str,
        entry: Mapping[str, Json] | None,
        before: MemoryEntry | None,
        origin_key: str,
    ) -> None:
        target = (self._scope, self._access.text, key, self._access.caller.origin.node_id)
        before_json = entry_to_json(before) if before else None
        self._changes.add(SandboxChange(operation, *target, origin_key, entry, before_json))


def entry_to_json(entry: MemoryEntry) -> dict[str, Json]:
    source = entry.source
    return {
        **to_json(entry, _JSON_FIELDS),
        "source": {"actor": source.actor, "run": source.run_id, "node": source.node_id},
    }


def entry_from_json(document: Mapping[str, Json]) -> MemoryEntry:
    fields = {name: document[name] for name in _JSON_FIELDS if name in document}
    entry = from_json(MemoryEntry, fields)
    source = document["source"]
    return replace(entry, source=Source(source["actor"], source["run"], source["node"]))
