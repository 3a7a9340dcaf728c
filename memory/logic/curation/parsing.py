"""The parsing of a model's response into drafts. A response with an invalid part yields no draft at all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from memory.core.records import Json, Source, StoreParams
from memory.logic.curation.repair import UnreadableAnswer, read_object
from memory.logic.ports import NewId


_MEMBER_NAMES = frozenset({"summary", "key_learnings", "errors", "solutions", "tags", "category"})
_CATEGORIES = {name: name for name in ("execution", "result", "error")}
_CATEGORIES |= {"执行": "execution", "结果": "result", "错误": "error"}
_MAX_TEXT_LENGTH, _MAX_TEXTS = 1_000, 20
_MAX_TAG_LENGTH, _MAX_TAGS = 60, 12
_EMPTY = frozenset({"", "none", "n/a", "null", "无", "没有", "-"})


@dataclass(frozen=True, slots=True)
class Analysis:
    """The memorable content of a piece of work; ``repairs`` lists the repairs that reading the response needed."""

    summary: str
    key_learnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    solutions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    category: str = "execution"
    repairs: tuple[str, ...] = ()


def parse_analysis(answer: str) -> Analysis:
    """Parse the response; raise ``UnreadableAnswer`` with a message that can be shown to the model."""
    parsed = read_object(answer, expected=_MEMBER_NAMES)
    members = parsed.value.items()
    value = {name.strip().casefold().replace(" ", "_"): member for name, member in members}
    summary = value.get("summary")
    if not isinstance(summary, str) or not summary.strip():
        raise UnreadableAnswer("summary: must be a text.")
    return Analysis(
        summary=_normalize_text(summary),
        key_learnings=_parse_string_list(value, "key_learnings"),
        errors=_parse_string_list(value, "errors"),
        solutions=_parse_string_list(value, "solutions"),
        tags=tuple(tag[:_MAX_TAG_LENGTH] for tag in _parse_string_list(value, "tags"))[:_MAX_TAGS],
        category=_parse_category(value.get("category")),
        repairs=parsed.repairs,
    )


def build_drafts(
    analysis: Analysis,
    namespace: str,
    new_id: NewId,
    source: Source = Source(),  # noqa: B008 - frozen
) -> list[StoreParams]:
    """Build one entry ``task:…`` for the summary, one ``error:…`` for all errors, and a ``learning:…`` for each learning.

    So each learning is found, merged, contradicted and rejected alone. The solutions are stored with the errors, or
    with the summary if there was no error.
    """
    solutions = {"solutions": list(analysis.solutions)} if analysis.solutions else {}
    task: dict[str, Json] = {"summary": analysis.summary}
    contents: list[tuple[str, str, dict[str, Json]]] = []  # prefix of the key, category, value
    if analysis.summary:
        contents.append(("task", "execution", task))
    if analysis.errors:
        contents.append(("error", "error", {"errors": list(analysis.errors), **solutions}))
    else:
        task |= solutions
    contents += [("learning", "result", {"learnings": [text]}) for text in analysis.key_learnings]
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
        for prefix, category, value in contents
    ]


def _parse_category(value: Json) -> str:
    """Return the category, by default ``execution``, such as for ``Execution|Result|Error`` copied from the prompt."""
    word = value.strip().casefold() if isinstance(value, str) else ""
    return _CATEGORIES.get(word, "execution")


def _parse_string_list(value: Mapping[str, Json], name: str) -> tuple[str, ...]:
    """Return the distinct strings of a member; a single string is a list of one, and an object becomes a string."""
    items = value.get(name)
    if items is None:
        return ()
    if isinstance(items, str | Mapping):
        items = [items]
    if not isinstance(items, list):
        raise UnreadableAnswer(f"{name}: must be a list of texts.")
    texts = (_normalize_text(_format_item(name, item)) for item in items)
    distinct = dict.fromkeys(item for item in texts if item.casefold().rstrip(".。") not in _EMPTY)
    return tuple(distinct)[:_MAX_TEXTS]


def _format_item(name: str, item: Json) -> str:
    match item:
        case str():
            return item
        case bool() | None:
            return ""
        case int() | float():
            return str(item)
        case dict():
            return "; ".join(_format_members(item))
        case _:
            raise UnreadableAnswer(f"{name}: must be a list of texts.")


def _format_members(item: Mapping[str, Json]) -> Iterable[str]:
    for name, value in item.items():
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            yield f"{name}: {value}" if len(item) > 1 else str(value)


def _normalize_text(text: str) -> str:
    """Put the text on one line; cut a text too long for one memory between words."""
    valid = text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    line = " ".join(valid.split())
    if len(line) <= _MAX_TEXT_LENGTH:
        return line
    head = line[: _MAX_TEXT_LENGTH - 1]
    return f"{head.rsplit(' ', 1)[0] if ' ' in head else head}…"
