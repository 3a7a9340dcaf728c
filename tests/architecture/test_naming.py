"""Names and docstrings are plain: values are nouns, functions are verbs, sentences are whole."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from config.env import ROOT
from tests.architecture.naming_words import is_fragment, is_odd_variable, is_participle


PRODUCT = ("accounts", "config", "memory", "workflows")
NAMED = (*PRODUCT, "bench")
MOST_ODD_VARIABLES, MOST_PARTICIPLES, MOST_FRAGMENTS = 0.005, 0.005, 0.05
MOST_FILES_IN_A_FOLDER = 20

Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
Part = Callable[[ast.AST], Iterator[tuple[int, str]]]
Names = dict[Part, list[tuple[str, str]]]  # by what they are: pairs of place and text


@dataclass(frozen=True)
class Tally:
    """How many names or docstrings there are, and where the offending ones are."""

    total: int = 0
    offenders: tuple[str, ...] = field(default=())

    @property
    def share(self) -> float:
        return len(self.offenders) / max(self.total, 1)


def tally(pairs: Iterator[tuple[str, str]], offends: Callable[[str], bool]) -> Tally:
    """Count the texts of these (place, text) pairs and collect the offending ones."""
    rows = list(pairs)
    return Tally(len(rows), tuple(f"{where} {text}" for where, text in rows if offends(text)))


def variables(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and name of every variable, parameter and field that is bound."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name


def functions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, Named) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text.splitlines()[0]


def sources() -> Iterator[tuple[str, ast.AST]]:
    for folder in NAMED:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


@cache
def read_names() -> Names:
    """Read every module once, and keep what is asked about rather than the trees."""
    kept: Names = {part: [] for part in (variables, functions, docstrings)}
    for name, tree in sources():
        for part, pairs in kept.items():
            pairs += [(f"{name}:{line}", text) for line, text in part(tree)]
    return kept


def across(part: Part) -> Iterator[tuple[str, str]]:
    return iter(read_names()[part])


def test_variables_are_named_by_nouns():
    result = tally(across(variables), is_odd_variable)

    assert result.share <= MOST_ODD_VARIABLES, "\n".join(result.offenders)


def test_functions_are_not_named_by_participles():
    result = tally(across(functions), is_participle)

    assert result.share <= MOST_PARTICIPLES, "\n".join(result.offenders)


def test_docstrings_are_whole_sentences():
    result = tally(across(docstrings), is_fragment)

    assert result.share <= MOST_FRAGMENTS, "\n".join(result.offenders)


def test_planted_offenders_are_noticed():
    tree = ast.parse(
        '"""What is planted."""\n'
        "def told(asked, *, query, **kept):\n"
        '    """Whether it was said."""\n'
        "    found, rows = query\n"
        "    for one in rows:\n"
        "        match one:\n"
        "            case seen:\n"
        "                pass\n"
        "    try:\n"
        "        return [row for row in rows if (named := row)]\n"
        "    except ValueError as error:\n"
        '        """Whose string is no docstring."""\n'
        "async def _stood(): ...\n"
        "def opened(): ...\n"
        "def embed(): ...\n"
        "def list_kept_rows():\n"
        '    """Return the rows that were kept."""\n'
    )

    assert [name for _, name in sorted(variables(tree)) if is_odd_variable(name)] == [
        "asked",
        "kept",
        "found",
        "one",
        "seen",
        "named",
    ]
    assert [name for _, name in sorted(functions(tree)) if is_participle(name)] == [
        "told",
        "_stood",
        "opened",
    ]
    assert [text for _, text in docstrings(tree) if is_fragment(text)] == [
        "What is planted.",
        "Whether it was said.",
    ]


def crowded(root: Path) -> dict[str, int]:
    """Return the product folders below the root with more files than can be taken in at a glance."""
    sizes = {
        folder.relative_to(root).as_posix(): sum(file.is_file() for file in folder.iterdir())
        for top in (*PRODUCT, "templates", "static")
        if (root / top).is_dir()
        for folder in [root / top, *(root / top).rglob("*/")]
        if not {"__pycache__", "migrations", "node_modules"} & set(folder.parts)
    }
    return {name: size for name, size in sizes.items() if size > MOST_FILES_IN_A_FOLDER}


def test_no_product_folder_is_crowded():
    assert crowded(ROOT) == {}


def test_crowded_folder_is_noticed(tmp_path: Path):
    folder = tmp_path / "memory" / "views"
    folder.mkdir(parents=True)
    for number in range(MOST_FILES_IN_A_FOLDER + 1):
        (folder / f"page_{number}.py").touch()

    assert crowded(tmp_path) == {"memory/views": 21}
