"""Describes how the nodes of a kind look on their cards, and which products know the kind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from workflows.engine.language.document import Json
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text


# The colour of a card; each is a class of canvas-editor.css.
Family = Literal["flow", "model", "memory", "logic", "data", "unknown"]


# The data of a node, as its document has it.
Data = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class HandleLabel:
    """The label of a handle: ``word`` says when a run takes it, such as If, and ``text`` is the condition."""

    word: Text = ""
    text: Sequence[Text] = ()  # printed one after the other


class Appearance:
    """Describes how nodes of a kind are shown, also where the kind isn't installed.

    A draft may hold incomplete or invalid data, so the methods must accept any data.
    """

    name: ClassVar[str]
    icon: ClassVar[str] = "workflow"  # of static/icons.svg
    family: ClassVar[Family] = "data"
    # The other products whose documents may have nodes of this kind.
    dialects: ClassVar[tuple[Literal["dify", "xworkflow"], ...]] = ()

    def summarize(self, data: Data) -> Iterable[Text]:
        """Return the parts of the line on the card. The views join them by dots and leave out empty parts."""
        return ()

    def label_handles(self, data: Data) -> Mapping[str, HandleLabel]:
        """Return the labels of the handles that need more than their name."""
        return {}


def list_items(value: Json) -> Sequence[Any]:
    """Return the items of a list, and none for anything else."""
    return value if isinstance(value, list | tuple) else ()


def iter_objects(value: Json) -> Iterator[Data]:
    return (item for item in list_items(value) if isinstance(item, Mapping))


def get_variable_name(selector: Json) -> str:
    """Return the variable's name without the node id, which users do not know."""
    parts = list_items(selector)
    return str(parts[-1]) if parts else ""


def get_model_name(model: Json) -> str:
    return as_text(model.get("name")) if isinstance(model, Mapping) else ""


def join_names(names: Iterable[str]) -> str:
    return ", ".join(filter(None, names))


def join_object_names(value: Json, key: str) -> str:
    """Return the values under a key of the objects in a list, separated by commas."""
    return join_names(as_text(item.get(key)) for item in iter_objects(value))
