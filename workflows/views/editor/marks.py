"""How a part of a drawing differs from another version of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """How a part differs between two versions: never by colour alone."""

    name: str
    sign: str
    word: str
