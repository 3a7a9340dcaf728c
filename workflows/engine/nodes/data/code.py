"""Code: a program of the author's, run by the runner pool. What it returns is checked to the letter."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from workflows.engine.code_outputs import Declared, checked
from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import CodeFailed, PortMissing
from workflows.engine.kinds import (
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)
from workflows.engine.ports import CodeRequest
from workflows.engine.problems import Problem, warning
from workflows.engine.values import ValueType, parse_type


PYTHON: Final = "python3"
FULL: Final = "python-full"  # all of CPython, where the installation has a jail for it
LANGUAGES: Final[Mapping[str, str]] = {"python3": PYTHON, "python": PYTHON, FULL: FULL}
OUTPUT_TYPES: Final = (
    ValueType.STRING,
    ValueType.NUMBER,
    ValueType.BOOLEAN,
    ValueType.OBJECT,
    ValueType.ARRAY_STRING,
    ValueType.ARRAY_NUMBER,
    ValueType.ARRAY_BOOLEAN,
    ValueType.ARRAY_OBJECT,
)
SECONDS: Final = 10.0
_MAX_DECLARED_DEPTH: Final = 5
_MAX_PRINTED: Final = 20_000
_MAIN: Final = re.compile(r"^(?:async\s+)?def\s+main\s*\(|^main\s*=", re.MULTILINE)
_START: Final = 'def main() -> dict:\n    return {"result": ""}\n'


class CodeVariable(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    variable: str
    value_selector: tuple[str, ...] = ()


class CodeOutput(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    type: str = "any"
    children: dict[str, "CodeOutput"] | None = None


class CodeConfig(NodeConfig):
    code_language: str = PYTHON
    code: str = ""
    variables: tuple[CodeVariable, ...] = ()
    outputs: dict[str, CodeOutput | str] | None = None
    # How main is called, and with it whether outputs nobody declared are kept: xworkflow's way is
    # one object in, everything out.
    calling: Literal["keywords", "inputs"] = "keywords"


@dataclass(frozen=True, slots=True)
class Prepared:
    language: str
    source: str
    variables: tuple[tuple[str, Selector], ...]
    outputs: Mapping[str, Declared]
    calling: Literal["keywords", "inputs"]


class Code(NodeKind[CodeConfig, Prepared]):
    name = "code"
    title = gettext_noop("Code")
    description = gettext_noop("Runs a Python function on variables.")
    group = "data"
    config_model = CodeConfig
    retryable = True
    fields = (
        Field("variables", gettext_noop("Input variables"), Widget.OUTPUTS,
              help=gettext_noop("Each is an argument of main.")),
        Field("code_language", gettext_noop("Language"), Widget.CHOICE, default=PYTHON,
              choices=((PYTHON, "Python 3"),)),
        Field("code", gettext_noop("Code"), Widget.CODE, required=True, default=_START,
              help=gettext_noop("main returns an object with exactly the declared outputs.")),
        Field("outputs", gettext_noop("Output variables"), Widget.TYPED_OUTPUTS, required=True,
              default={"result": {"type": "string"}},
              choices=tuple((str(kind), str(kind)) for kind in OUTPUT_TYPES)),
    )  # fmt: skip

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        return Prepared(
            LANGUAGES.get(config.code_language, config.code_language),
            config.code,
            tuple((v.variable, v.value_selector) for v in config.variables),
            {name: _declared(output) for name, output in (config.outputs or {}).items()},
            config.calling,
        )

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        return problems or [*_problems(spec, self.configure(spec))]

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        declared = self.configure(spec).outputs or {}
        return tuple(Output(name, str(_declared(out).type)) for name, out in declared.items())

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(variable.value_selector for variable in self.configure(spec).variables)

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        if prepared.language not in LANGUAGES.values():
            raise CodeFailed(_no_language(prepared.language))
        if ctx.ports.code is None:
            raise PortMissing("code")
        inputs = _inputs(prepared, ctx)
        ctx.give(inputs)
        result = await ctx.ports.code.run(
            CodeRequest(prepared.language, prepared.source, inputs, SECONDS, prepared.calling)
        )
        ctx.give(_shown(inputs, result.stdout))
        return NodeResult(
            checked(result.value, prepared.outputs, keep=prepared.calling == "inputs")
        )

    async def rehearse(self, prepared: Prepared, ctx: NodeContext) -> dict[str, Json]:
        return _inputs(prepared, ctx)


def _inputs(prepared: Prepared, ctx: NodeContext) -> dict[str, Json]:
    return {name: ctx.pool.get_or_none(selector) for name, selector in prepared.variables}


def _shown(inputs: dict[str, Json], printed: str) -> dict[str, Json]:
    """What was printed is kept beside the inputs; a variable of that name goes first."""
    return {"stdout": printed[:_MAX_PRINTED], **inputs} if printed else inputs


def _declared(written: CodeOutput | str, depth: int = 1) -> Declared:
    output = CodeOutput(type=written) if isinstance(written, str) else written
    children = output.children if depth < _MAX_DECLARED_DEPTH else None
    return Declared(
        parse_type(output.type) or ValueType.ANY,
        {name: _declared(child, depth + 1) for name, child in children.items()}
        if children
        else None,
    )


def _problems(spec: NodeSpec, config: CodeConfig) -> Iterator[Problem]:
    """Warnings only: a node whose outputs are pinned needs neither its language nor its code."""
    language = LANGUAGES.get(config.code_language)
    if language is None:
        message = _no_language(config.code_language)
        yield warning("code.language", message, node=spec.id, field="code_language")
    if not config.code.strip():
        yield warning("code.empty", "There is no code", node=spec.id, field="code")
    elif language is not None and not _MAIN.search(config.code):
        message = "The code must define a function main"
        yield warning("code.main", message, node=spec.id, field="code")
    names = [variable.variable for variable in config.variables]
    for index, name in enumerate(names):
        if config.calling == "keywords" and not name.isidentifier():
            message = f"{name!r} can't be the name of an argument"
            yield Problem("code.variable", message, spec.id, f"variables.{index}.variable")
        elif name in names[:index]:
            message = f"There are two variables {name!r}"
            yield Problem("code.variable", message, spec.id, f"variables.{index}.variable")
    for name, output in (config.outputs or {}).items():
        written = output if isinstance(output, str) else output.type
        if parse_type(written) is None:
            message = f"Unknown type {written!r}"
            yield Problem("code.output_type", message, spec.id, f"outputs.{name}.type")


def _no_language(language: str) -> str:
    return f"{language} code can't be run here: rewrite it in Python"
