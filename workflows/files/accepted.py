"""Says which files a field accepts, and refuses others when they are uploaded: by their content, before a run needs them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workflows.engine.files.media_types import MediaType, clean_name
from workflows.engine.files.rules import FileRules
from workflows.errors import FileRefused, FileTooLarge
from workflows.files.limits import MEGABYTE, get_limit


# Kind → its plural in a list of what is accepted.
_KINDS: Final[Mapping[str, Promise]] = {
    "image": gettext_lazy("images"),
    "document": gettext_lazy("documents"),
    "audio": gettext_lazy("audio"),
    "video": gettext_lazy("videos"),
    "custom": gettext_lazy("other files"),
}


@dataclass(frozen=True, slots=True)
class UploadField:
    """The field that a file is uploaded for: its label and its rules."""

    label: str
    rules: FileRules

    def check_type(self, media_type: MediaType, name: str) -> None:
        """Raise FileRefused for a file of a type that the field doesn't accept."""
        file = {
            "name": name,
            "type": media_type.kind,
            "extension": media_type.extension,
            "transfer_method": "local_file",
        }
        if self.rules.find_error(file) is not None:
            message = _("%(field)s: %(name)s is not of an accepted type. Accepted: %(accepted)s.")
            raise FileRefused(message % self._describe(name), field="file")

    def check_size(self, size: int, kind: str | None, name: str) -> None:
        """Raise FileTooLarge for a file that is too large for its kind, or for any kind if it isn't known yet."""
        kinds = [kind] if kind is not None else list_kinds(self.rules)
        if size > max(map(get_limit, kinds)) * MEGABYTE:
            message = _("%(field)s: %(name)s is too large. Accepted: %(accepted)s.")
            raise FileTooLarge(message % self._describe(name), field="file")

    def _describe(self, name: str) -> dict[str, str]:
        accepted = describe_accepted(self.rules)
        return {"field": self.label, "name": clean_name(name), "accepted": accepted}


def list_kinds(rules: FileRules) -> list[str]:
    """Return the kinds of files that the rules accept, all of them if the rules name none."""
    return [kind for kind in _KINDS if not rules.types or kind in rules.types] or [*_KINDS]


def describe_accepted(rules: FileRules) -> str:
    """Return the accepted types with their sizes, such as "images up to 10 MB; documents up to 15 MB"."""
    names: dict[int, list[str]] = {}
    for kind in list_kinds(rules):
        names.setdefault(get_limit(kind), []).extend(_name(kind, rules))
    size = _("%(types)s up to %(limit)s MB")
    return _("; ").join(
        size % {"types": _(", ").join(names[limit]), "limit": limit} for limit in names
    )


def _name(kind: str, rules: FileRules) -> Iterable[str]:
    is_listed = kind == "custom" and kind in rules.types and rules.extensions
    return rules.extensions if is_listed else [str(_KINDS[kind])]
