"""The search for a part of a text in the database, with case, accents and widths folded as ``memory.core.folding`` does."""

from functools import reduce
from typing import Final

from django.db.models import F, Func, Q, TextField
from django.db.models.lookups import Contains

from memory.core.folding import ACCENTS, OTHER_LETTERS, fold


_UNACCENTED: Final = f"regexp_replace(normalize(%(expressions)s, NFKD), '{ACCENTS}', '', 'g')"
_LETTERS: Final = reduce(
    lambda sql, pair: f"replace({sql}, '{pair[0]}', '{pair[1]}')",
    OTHER_LETTERS.items(),
    f"lower({_UNACCENTED})",
)


class Folded(Func):
    """The folded form of a column. Text in ASCII, which is most, needs small letters only."""

    template = (
        "CASE WHEN octet_length(%(expressions)s) = char_length(%(expressions)s)"
        f" THEN lower(%(expressions)s) ELSE normalize({_LETTERS}, NFC) END"
    )
    arity = 1
    output_field = TextField()


def contains(column: str, part: str) -> Q:
    """Return the condition that the column contains the part; an empty part is in every text."""
    return Q(Contains(Folded(F(column)), fold(part))) if part else Q()
