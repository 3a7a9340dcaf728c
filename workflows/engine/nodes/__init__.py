"""The built-in node kinds: a file each, and a row in this table."""

from collections.abc import Iterable

from workflows.engine.kinds import AnyKind, Kinds


NODE_KINDS: tuple[AnyKind, ...] = ()


def builtin_kinds(*, memory: bool = True, plugins: Iterable[AnyKind] = ()) -> Kinds:
    """``memory=False`` leaves out the kinds that need a memory: the validator then names them unknown."""
    offered = [kind for kind in NODE_KINDS if memory or not kind.needs_memory]
    return Kinds([*offered, *plugins])
