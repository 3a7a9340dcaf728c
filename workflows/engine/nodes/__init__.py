"""The built-in node kinds: each is a module of this package, which is found automatically."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Final

from workflows.engine.appearance import Appearance
from workflows.engine.foreign_kinds.placeholders import FOREIGN_KINDS, UnknownAppearance
from workflows.engine.kinds import AnyKind, Field, Kinds, NodeKind, Widget
from workflows.engine.language.memory_usage import MEMORY_FIELDS


Choices = Sequence[tuple[str, str]]  # value, label


def _create_kinds(module: ModuleType) -> Iterator[AnyKind]:
    """Yield an instance of each kind that a module defines. Classes without a name are base classes."""
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    for class_ in classes:
        is_own = class_.__module__ == module.__name__
        if is_own and issubclass(class_, NodeKind) and "name" in vars(class_):
            yield class_()


def find_kinds() -> Iterator[AnyKind]:
    """Yield an instance of every kind in the modules of this package."""
    for module in walk_packages(__path__, f"{__name__}."):
        yield from _create_kinds(import_module(module.name))


NODE_KINDS: Final = tuple(sorted(find_kinds(), key=lambda kind: (kind.palette_order, kind.name)))

# Name or alias in documents → kind, including kinds that are not installed.
KNOWN_KINDS: Final[Mapping[str, Appearance]] = {
    **FOREIGN_KINDS,
    **{name: kind for kind in NODE_KINDS for name in (kind.name, *kind.aliases)},
}


def find_appearance(name: str, installed: Mapping[str, AnyKind]) -> Appearance:
    """Return the kind of that name if it is installed, or else its known appearance."""
    return installed.get(name) or KNOWN_KINDS.get(name) or UnknownAppearance()


def build_kinds(
    *,
    memory: bool = True,
    has_recall: bool | None = None,
    plugins: Iterable[AnyKind] = (),
    scopes: Choices = (),
    languages: Choices = (),
) -> Kinds:
    """Return the built-in kinds and those of plug-ins; without ``memory`` only those that need no memory.

    ``has_recall`` says whether LLM nodes may recall memories into their prompts. Its default is ``memory``.
    ``scopes`` are added to the choices of scope fields, and ``languages`` to those of code nodes.
    """
    choices = {"scope": scopes, "code_language": languages}
    available = [kind for kind in NODE_KINDS if memory or not kind.needs_memory]
    kinds = [_add_choices(kind, choices) for kind in available]
    if not (memory if has_recall is None else has_recall):
        kinds = [_remove_memory_field(kind) for kind in kinds]
    return Kinds([*kinds, *plugins])


def _remove_memory_field(kind: AnyKind) -> AnyKind:
    """Return the kind without the fields through which its model uses memory."""
    fields = tuple(field for field in kind.fields if field.name not in MEMORY_FIELDS)
    return kind if fields == kind.fields else _replace_fields(kind, fields)


def _add_choices(kind: AnyKind, extra: Mapping[str, Choices]) -> AnyKind:
    if not any(extra.values()):
        return kind
    return _replace_fields(kind, _extend_choices(kind.fields, extra))


def _replace_fields(kind: AnyKind, fields: tuple[Field, ...]) -> AnyKind:
    changed_kind = copy(kind)
    vars(changed_kind)["fields"] = fields
    return changed_kind


def _extend_choices(fields: tuple[Field, ...], extra: Mapping[str, Choices]) -> tuple[Field, ...]:
    return tuple(
        replace(field, choices=(*field.choices, *extra[field.name]))
        if field.name in extra and field.widget is Widget.CHOICE
        else replace(field, fields=_extend_choices(field.fields, extra))
        for field in fields
    )
