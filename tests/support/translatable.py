"""Every text marked for translation, found without xgettext: Django's own template lexer, and Python's syntax tree."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation.template import templatize

from workflows.samples.wording import CONTEXT, list_file_texts
from workflows.views.script_texts import list_texts


ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("config", "accounts", "memory", "workflows")
TEMPLATES = ("templates", "config/templates")

# Function → which arguments are context, singular, plural.
MARKS: dict[str, tuple[int | None, int, int | None]] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), (None, 0, None)),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (None, 0, 1)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), (0, 1, None)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), (0, 1, 2)),
}

_STRING = r"""[uU]?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CALL = re.compile(rf"\b({'|'.join(MARKS)})\(((?:\s*{_STRING}\s*,?)+)", re.DOTALL)


@dataclass(frozen=True)
class Text:
    """A text to translate, and where it stands."""

    msgid: str
    where: str
    context: str | None = None
    plural: str | None = None

    @property
    def key(self) -> tuple[str | None, str]:
        return self.context, self.msgid


def texts() -> list[Text]:
    """All of ours, in templates, in Python, in scripts and in the documents of the gallery."""
    return [*of_templates(), *of_python(), *of_scripts(), *of_samples()]


def of_scripts() -> Iterator[Text]:
    for text in list_texts():
        yield Text(msgid=text, where="static/js")


def of_samples() -> Iterator[Text]:
    for file, text in list_file_texts():
        yield Text(msgid=text, where=f"workflows/samples/{file}", context=CONTEXT)


def of_templates() -> Iterator[Text]:
    for folder in TEMPLATES:
        for path in sorted((ROOT / folder).rglob("*.html")):
            yield from in_template(path.read_text(), str(path.relative_to(ROOT)))


def of_python() -> Iterator[Text]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield from in_python(path.read_text(), str(path.relative_to(ROOT)))


def in_template(source: str, where: str) -> Iterator[Text]:
    for call in _CALL.finditer(templatize(source, origin=where)):
        strings = [ast.literal_eval(text) for text in re.findall(_STRING, call[2], re.DOTALL)]
        yield _text(call[1], strings, where)


def in_python(source: str, where: str) -> Iterator[Text]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _name(node.func) in MARKS:
            strings = [_constant(argument) for argument in node.args]
            name, here = _name(node.func), f"{where}:{node.lineno}"
            if any(isinstance(argument, ast.JoinedStr) for argument in node.args):
                raise AssertionError(
                    f"{here}: an f-string can't be translated; use % and a mapping"
                )
            if strings and strings[0] is not None:
                yield _text(name, strings, here)


def _text(function: str, strings: list[str | None], where: str) -> Text:
    context, singular, plural = MARKS[function]
    return Text(
        msgid=strings[singular] or "",
        where=where,
        context=None if context is None else strings[context],
        plural=None if plural is None else strings[plural],
    )


def _name(function: ast.expr) -> str:
    return str(getattr(function, "id", None) or getattr(function, "attr", ""))


def _constant(argument: ast.expr) -> str | None:
    value = argument.value if isinstance(argument, ast.Constant) else None
    return value if isinstance(value, str) else None
