"""From a model's answer to drafts of entries: all of it understood, or none of it stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from memory.core.records import Json, Source, StoreParams
from memory.logic.curation.repair import Unreadable, read_object
from memory.logic.ports import NewId


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is worth remembering of a piece of work; ``repairs`` is what reading it took."""

    summary: str
    key_learnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    solutions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    category: str = "execution"
    repairs: tuple[str, ...] = ()


def parse_analysis(answer: str) -> Analysis:
    """Raises ``Unreadable``, whose message can be shown to the model."""
    found = read_object(answer, expected=_NAMES)
    value = {name.strip().casefold().replace(" ", "_"): one for name, one in found.value.items()}
    summary = value.get("summary")
    if not isinstance(summary, str) or not summary.strip():
        raise Unreadable("summary: must be a text.")
    return Analysis(
        summary=_one_text(summary),
        key_learnings=_texts(value, "key_learnings"),
        errors=_texts(value, "errors"),
        solutions=_texts(value, "solutions"),
        tags=tuple(tag[:_LONGEST_TAG] for tag in _texts(value, "tags"))[:_MOST_TAGS],
        category=_category(value.get("category")),
        repairs=found.repairs,
    )


def drafts(
    analysis: Analysis,
    namespace: str,
    new_id: NewId,
    source: Source = Source(),  # noqa: B008 - frozen
) -> list[StoreParams]:
    """``task:…`` unless there is no summary, ``error:…`` and ``learning:…`` where there is something to say.

    Each learning is an entry of its own, so that it is found, merged, contradicted and rejected
    alone. What solved an error stands with it; where there was none, with the task.
    """
    solved: dict[str, Json] = {"solutions": list(analysis.solutions)} if analysis.solutions else {}
    task: dict[str, Json] = {"summary": analysis.summary}
    made: list[tuple[str, str, dict[str, Json]]] = []
    if analysis.errors:
        made.append(("error", "error", {"errors": list(analysis.errors), **solved}))
    else:
        task |= solved
    made += (("learning", "result", {"learnings": [one]}) for one in analysis.key_learnings)
    metadata: dict[str, Json] = {"tags": list(analysis.tags), "outcome": analysis.category}
    return [
        StoreParams(
            namespace,
            f"{prefix}:{new_id()}",
            value=value,
            metadata=dict(metadata),
            category=category,
            source=replace(source, rule=source.rule or "curation"),
        )
        for prefix, category, value in [("task", "execution", task), *made]
        if value is not task or analysis.summary
    ]


_NAMES = frozenset({"summary", "key_learnings", "errors", "solutions", "tags", "category"})
_CATEGORIES = {
    "execution": "execution",
    "result": "result",
    "error": "error",
    "执行": "execution",
    "结果": "result",
    "错误": "error",
}
_LONGEST_TEXT, _MOST_TEXTS = 1_000, 20
_LONGEST_TAG, _MOST_TAGS = 60, 12
_EMPTY = frozenset({"", "none", "n/a", "null", "无", "没有", "-"})


def _category(value: Json) -> str:
    """``Execution|Result|Error`` copied as it stands is no answer."""
    word = value.strip().casefold() if isinstance(value, str) else ""
    return _CATEGORIES.get(word, "execution")


def _texts(value: Mapping[str, Json], name: str) -> tuple[str, ...]:
    """One text is a list of one; an object in a list is what it says, name by name."""
    found = value.get(name)
    if found is None:
        return ()
    if isinstance(found, str | Mapping):
        found = [found]
    if not isinstance(found, list):
        raise Unreadable(f"{name}: must be a list of texts.")
    texts = (_one_text(_said(name, one)) for one in found)
    kept = dict.fromkeys(one for one in texts if one.casefold().rstrip(".。") not in _EMPTY)
    return tuple(kept)[:_MOST_TEXTS]


def _said(name: str, item: Json) -> str:
    match item:
        case str():
            return item
        case bool() | None:
            return ""
        case int() | float():
            return str(item)
        case dict():
            return "; ".join(_members(item))
        case _:
            raise Unreadable(f"{name}: must be a list of texts.")


def _members(item: Mapping[str, Json]) -> Iterable[str]:
    for name, value in item.items():
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            yield f"{name}: {value}" if len(item) > 1 else str(value)


def _one_text(text: str) -> str:
    """On one line. A text too long to be one memory is cut at a word."""
    whole = text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    line = " ".join(whole.split())
    if len(line) <= _LONGEST_TEXT:
        return line
    head = line[: _LONGEST_TEXT - 1]
    return f"{head.rsplit(' ', 1)[0] if ' ' in head else head}…"
