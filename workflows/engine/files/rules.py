"""The files that a start field, or the message of a chat, accepts: their types, extensions, origins and number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.values import get_file_attribute


DEFAULT_COUNT: Final = 3  # of the files of a message, as in Dify
MAX_COUNT: Final = 50
_CUSTOM: Final = "custom"


@dataclass(frozen=True, slots=True)
class FileRules:
    """An empty list of types, extensions or methods accepts all of them. ``extensions`` belong to the type custom."""

    types: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()  # in lower case, with a dot
    methods: tuple[str, ...] = ()
    max_count: int = MAX_COUNT

    @property
    def allows_links(self) -> bool:
        return not self.methods or "remote_url" in self.methods

    @property
    def allows_uploads(self) -> bool:
        return not self.methods or "local_file" in self.methods

    def find_error(self, file: Mapping[str, Json]) -> str | None:
        """Return why a file isn't accepted, or None. Properties that the file doesn't have are not checked."""
        name = str(get_file_attribute(file, "name") or "The file")
        method, kind = file.get("transfer_method"), file.get("type")
        if self.methods and method is not None and method not in self.methods:
            return f"{name} must come by one of: {', '.join(self.methods)}"
        if not self.types or kind is None or (kind in self.types and kind != _CUSTOM):
            return None
        extension = str(get_file_attribute(file, "extension") or "").lower()
        if _CUSTOM in self.types and (not self.extensions or extension in self.extensions):
            return None
        allowed = [each for each in self.types if each != _CUSTOM or not self.extensions]
        accepted = ", ".join((*allowed, *(self.extensions if _CUSTOM in self.types else ())))
        return f"{name} is not of an accepted type ({accepted})"

    def find_list_error(self, files: Sequence[Mapping[str, Json]]) -> str | None:
        if len(files) > self.max_count:
            return f"At most {self.max_count} files are accepted"
        return next(filter(None, map(self.find_error, files)), None)


ANY_FILES: Final = FileRules()


def read_field_rules(variable: Mapping[str, Json]) -> FileRules:
    """Return the rules of a start variable of the type file or file-list."""
    is_list = str(variable.get("type") or "").strip().lower() == "file-list"
    limit = _read_count(variable.get("max_length"), MAX_COUNT) if is_list else MAX_COUNT
    return FileRules(*_read_lists(variable), max_count=min(limit, MAX_COUNT))


def read_message_rules(features: Mapping[str, Json]) -> FileRules | None:
    """Return the rules for files of messages, or None for a workflow whose messages have none.

    Older documents only have ``image``, with the same settings for images alone.
    """
    settings = features.get("file_upload")
    if not isinstance(settings, Mapping):
        return None
    image = settings.get("image")
    if settings.get("enabled") is not True:
        if not isinstance(image, Mapping) or image.get("enabled") is not True:
            return None
        methods = _read_texts(image.get("transfer_methods"))
        return FileRules(("image",), (), methods, _read_count(image.get("number_limits")))
    return FileRules(*_read_lists(settings), _read_count(settings.get("number_limits")))


def _read_lists(
    settings: Mapping[str, Json],
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    extensions = _read_texts(settings.get("allowed_file_extensions"))
    return (
        _read_texts(settings.get("allowed_file_types")),
        tuple(f".{text.lower().lstrip('.')}" for text in extensions),
        _read_texts(settings.get("allowed_file_upload_methods")),
    )


def _read_texts(value: Json) -> tuple[str, ...]:
    items = value if isinstance(value, list | tuple) else ()
    return tuple(item.strip() for item in items if isinstance(item, str) and item.strip())


def _read_count(value: Json, fallback: int = DEFAULT_COUNT) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return int(value) if is_count else fallback
