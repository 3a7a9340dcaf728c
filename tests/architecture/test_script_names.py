"""Names in our scripts are plain words: values are nouns, functions are verbs."""

import re
from pathlib import Path

from django.conf import settings


ROOT = Path(settings.STATICFILES_DIRS[0]) / "js"
LARGEST_SHARE = 0.005
# Without "theirs": it is a key of the API for conflicts.
ODD_WORDS = frozenset(
    re.findall(
        r"\w+",
        "one found said told asked known wanted kept given made seen held shown done there here whole"
        " sought meant begun apart beside elsewhere judged stood shelf glass door guest lent",
    )
)
VARIABLE = re.compile(r"\b(?:const|let)\s+(\w+)|\b(?:const|let)\s+[{\[]([^=]*?)[}\]]\s*=")
PARAMETERS = re.compile(
    r"(?:function\*?\s*\w*|^\s+(?:async\s+)?#?\w+)\(([^()]*)\)\s*\{", re.MULTILINE
)
ARROW = re.compile(r"(?:\(([^()]*)\)|\b(\w+))\s*=>")
FUNCTION = re.compile(
    r"\bfunction\*?\s+(\w+)|\bconst\s+(\w+)\s*=\s*(?:async\s*)?(?:\([^()]*\)|\w+)\s*=>"
    r"|^  (?:static\s+|async\s+|get\s+|set\s+)*#?(\w+)\([^()]*\)\s*\{",
    re.MULTILINE,
)


def test_variables_are_not_named_by_odd_words():
    names = [(file, name) for file, text in _sources() for name in variables(text)]
    odd = [each for each in names if each[1].lower() in ODD_WORDS]

    assert len(odd) <= LARGEST_SHARE * len(names), sorted(set(odd))


def test_functions_are_not_named_by_participles():
    names = [(file, name) for file, text in _sources() for name in functions(text)]
    odd = [each for each in names if is_participle(each[1])]

    assert len(odd) <= LARGEST_SHARE * len(names), sorted(set(odd))


def test_odd_names_are_noticed_wherever_they_are_declared():
    text = """
const found = 1;
let [told, rest] = pair;
const { op: asked, kept } = change;
export function stood(one, { held = 2 }) {}
class A {
  #meant(other) {
  }
}
rows.map((seen) => seen);
const opened = () => 0;
"""

    assert {name for name in variables(text) if name in ODD_WORDS} == {
        "found",
        "told",
        "asked",
        "kept",
        "one",
        "held",
        "seen",
    }
    assert [name for name in functions(text) if is_participle(name)] == ["stood", "meant", "opened"]


def variables(text: str) -> list[str]:
    """Return the names of variables and parameters, also of those in a pattern."""
    patterns = [part for match in VARIABLE.findall(text) for part in match if part]
    patterns += PARAMETERS.findall(text)
    patterns += [part for match in ARROW.findall(text) for part in match if part]
    return [name for pattern in patterns for name in _bound(pattern)]


def functions(text: str) -> list[str]:
    return [name for match in FUNCTION.findall(text) for name in match if name]


def is_participle(name: str) -> bool:
    """Return whether a single word has the form of a participle, such as "opened" or "stood"."""
    return name in ODD_WORDS or bool(re.fullmatch(r"[a-z]{3,}(?<!e)ed", name))


def _sources() -> list[tuple[str, str]]:
    comments = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
    return [
        (file.relative_to(ROOT).as_posix(), comments.sub("", file.read_text()))
        for file in sorted(ROOT.rglob("*.js"))
    ]


def _bound(pattern: str) -> list[str]:
    """Return the names that a pattern binds: the right side of "key: name", without defaults."""
    parts = re.sub(r"=[^,}\]]*", "", pattern)
    return [
        name
        for part in re.split(r"[,{}\[\]]", parts)
        if (name := part.rpartition(":")[2].strip().lstrip(".")).isidentifier()
    ]
