"""The detection of secrets by their shape, so that none is stored or sent to a model.

A key with a known shape is detected anywhere. A value after "password:" must also resemble a secret, or every form
with such a field would be redacted. The patterns take one pass over a long string.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from memory.core.records import Json
from memory.logic.entries.secret_shapes import (
    NAME,
    NAME_IN_ANY_LANGUAGE,
    PASSWORD_SHAPES,
    SECRET_SHAPES,
    SecretShape,
    is_real_value,
)


_MIN_LENGTH = 4  # a secret of three letters would blank out half of every text


@dataclass(frozen=True, slots=True)
class Secret:
    """The kind and the position of a secret, without the secret itself."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redaction:
    value: Json
    kinds: tuple[str, ...]  # each once, in order


def find_secrets(text: str, known_secrets: Iterable[str] = ()) -> tuple[Secret, ...]:
    """Find secrets in order, without overlaps: those of a known shape, and ``known_secrets`` in exactly these forms."""
    secrets = [
        Secret("known secret", *span)
        for form in known_secrets
        if len(form) >= _MIN_LENGTH
        for span in _iterate_spans(form, text)
    ]
    for shape in _select_shapes(text):
        for match in shape.pattern.finditer(text):
            group = "secret" if "secret" in shape.pattern.groupindex else 0
            if shape.is_valid(match[group]):
                secrets.append(Secret(shape.kind, *match.span(group)))
    return _remove_overlaps(secrets)


def redact(text: str, known_secrets: Iterable[str] = ()) -> Redaction:
    """Replace each secret by its kind, so that the sentence around it stays readable."""
    parts, position = [], 0
    secrets = find_secrets(text, known_secrets)
    for secret in secrets:
        parts += [text[position : secret.start], f"[redacted: {secret.kind}]"]
        position = secret.end
    kinds = tuple(dict.fromkeys(secret.kind for secret in secrets))
    return Redaction("".join([*parts, text[position:]]), kinds)


def redact_json(value: Json, known_secrets: Iterable[str] = ()) -> Redaction:
    """Redact all strings and names in a value. A string under the name of a secret is redacted as a whole."""
    known_secrets = tuple(known_secrets)
    kinds: list[str] = []

    def clean(item: Json) -> Json:
        if isinstance(item, str):
            redaction = redact(item, known_secrets)
            kinds.extend(redaction.kinds)
            return redaction.value
        if isinstance(item, Mapping):
            return {clean(name): clean_member(name, inner) for name, inner in item.items()}
        if isinstance(item, list | tuple):
            return [clean(inner) for inner in item]
        return item

    def clean_member(name: str, inner: Json) -> Json:
        if isinstance(inner, str) and NAME.fullmatch(name) and is_real_value(inner):
            kinds.append("password")
            return "[redacted: password]"
        return clean(inner)

    return Redaction(clean(value), tuple(dict.fromkeys(kinds)))


def _select_shapes(text: str) -> Iterator[SecretShape]:
    yield from SECRET_SHAPES
    if NAME_IN_ANY_LANGUAGE.search(text.lower()):
        yield from (shape for shape in PASSWORD_SHAPES if shape.sign in text)


def _iterate_spans(form: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + len(form))


def _remove_overlaps(secrets: Iterable[Secret]) -> tuple[Secret, ...]:
    """Join overlapping secrets under the kind of the secret that starts first, or of the longer one."""
    result: list[Secret] = []
    for secret in sorted(secrets, key=lambda item: (item.start, -item.end, item.kind)):
        if not result or secret.start >= result[-1].end:
            result.append(secret)
        elif secret.end > result[-1].end:
            result[-1] = Secret(result[-1].kind, result[-1].start, secret.end)
    return tuple(result)
