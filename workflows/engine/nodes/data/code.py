"""Code: runs the author's program in the runner pool and checks its result against the declared outputs."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from workflows.engine.appearance import Data, join_names
from workflows.engine.configuration import ConfigPart, Field, NamedVariable, NodeConfig, Widget
from workflows.engine.errors import CodeFailed, PortMissing
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.values import ValueType, parse_type
from workflows.engine.nodes.data.code_outputs import Declaration, check_outputs
from workflows.engine.nodes.data.code_requests import run_code
from workflows.engine.ports import CodeRequest
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


PYTHON: Final = "python3"
FULL: Final = "python-full"  # full CPython, if the installation has a sandbox for it
JAVASCRIPT: Final = "javascript"  # if the installation has an engine for it
LANGUAGES: Final[Mapping[str, str]] = {
    "python3": PYTHON,
    "python": PYTHON,
    FULL: FULL,
    JAVASCRIPT: JAVASCRIPT,
}
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
SECONDS: Final = 10.0  # the maximum time of a program
_MAX_DECLARED_DEPTH: Final = 5
_MAX_PRINTED_LENGTH: Final = 20_000
_MAIN_DEFINITION: Final = re.compile(r"^(?:async\s+)?def\s+main\s*\(|^main\s*=", re.MULTILINE)
_JAVASCRIPT_MAIN: Final = re.compile(
    r"\bfunction\s*\*?\s*main\s*\(|\b(?:const|let|var)\s+main\s*=|\bmain\s*=[^=]"
)
_REQUESTS: Final = re.compile(r"(?:^|[;:])[ \t]*(?:import|from)\b.*\brequests\b", re.MULTILINE)
_DEFAULT_SOURCE: Final = 'def main() -> dict:\n    return {"result": ""}\n'
# The source of a new node that reads a text.
_TEXT_SOURCE: Final = 'def main(text: str) -> dict:\n    return {"result": text}\n'


class CodeOutput(ConfigPart):
    type: str = "any"
    children: dict[str, "CodeOutput"] | None = None


class CodeConfig(NodeConfig):
    code_language: str = PYTHON
    code: str = ""
    variables: tuple[NamedVariable, ...] = ()
    outputs: dict[str, CodeOutput | str] | None = None
    # How main gets its inputs: as keyword arguments, or in xworkflow as one object, where all outputs are kept.
    calling: Literal["keywords", "inputs"] = "keywords"


@dataclass(frozen=True, slots=True)
class Prepared:
    language: str
    source: str
    variables: tuple[tuple[str, Selector], ...]
    outputs: Mapping[str, Declaration]
    calling: Literal["keywords", "inputs"]


class Code(NodeKind[CodeConfig, Prepared]):
    name = "code"
    passes_text_on = True
    title = gettext_noop("Code")
    description = gettext_noop("Runs a Python function")
    group = "data"
    palette_order = 40
    icon = "code"
    family = "data"
    dialects = ("dify", "xworkflow")
    config_model = CodeConfig
    retry = Retry(max_retries=3, interval_ms=1000)
    fields = (
        Field("variables", gettext_noop("Input variables"), Widget.OUTPUTS,
              help=gettext_noop("Passed to main as arguments.")),
        Field("code_language", gettext_noop("Language"), Widget.CHOICE, default=PYTHON,
              choices=((PYTHON, "Python 3"),)),
        Field("code", gettext_noop("Code"), Widget.CODE, required=True, default=_DEFAULT_SOURCE,
              help=gettext_noop("main must return an object with exactly these fields.")),
        Field("outputs", gettext_noop("Output variables"), Widget.TYPED_OUTPUTS, required=True,
              default={"result": {"type": "string"}}, alternatives=("calling",),
              choices=tuple((str(kind), str(kind)) for kind in OUTPUT_TYPES)),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        language = as_text(data.get("code_language") or data.get("language"))
        outputs = data.get("outputs")
        names = join_names(map(str, outputs)) if isinstance(outputs, Mapping) else ""
        return [f"{language} → {names}" if names else language]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        return Prepared(
            LANGUAGES.get(config.code_language, config.code_language),
            config.code,
            tuple((v.variable, v.value_selector) for v in config.variables),
            {name: _read_declaration(output) for name, output in (config.outputs or {}).items()},
            config.calling,
        )

    def check(self, spec: NodeSpec) -> list[Problem]:
        return super().check(spec) or [*_find_problems(spec, self.configure(spec))]

    def find_text_output(self, spec: NodeSpec) -> str:
        texts = (output.name for output in self.list_outputs(spec) if output.type == "string")
        return next(texts, "")

    def build_initial_data(self, text: Selector) -> Data:
        variables = [{"variable": "text", "value_selector": [*text]}]
        return {"variables": variables, "code": _TEXT_SOURCE}

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        declared = self.configure(spec).outputs or {}
        types = {name: _read_declaration(output).type for name, output in declared.items()}
        return tuple(Output(name, str(kind)) for name, kind in types.items())

    def keeps_undeclared_outputs(self, spec: NodeSpec) -> bool:
        return spec.data.get("calling") == "inputs"

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(variable.value_selector for variable in self.configure(spec).variables)

    def brings_untrusted_content(self, spec: NodeSpec) -> bool:
        """Return whether the code may send HTTP requests, whose responses come from outside."""
        return _REQUESTS.search(as_text(spec.data.get("code"))) is not None

    def sends_outside(self, spec: NodeSpec) -> bool:
        return self.brings_untrusted_content(spec)

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        if prepared.language not in LANGUAGES.values():
            raise CodeFailed(_describe_unsupported(prepared.language))
        if ctx.ports.code is None:
            raise PortMissing("code")
        inputs = _get_inputs(prepared, ctx)
        ctx.record_inputs(inputs)
        request = CodeRequest(prepared.language, prepared.source, inputs, SECONDS, prepared.calling)
        result = await run_code(ctx.ports.code, request, ctx)
        if result.stdout:  # an input of that name has priority
            ctx.record_inputs({"stdout": result.stdout[:_MAX_PRINTED_LENGTH], **inputs})
        keeps_all = prepared.calling == "inputs"
        outputs = check_outputs(result.value, prepared.outputs, keep_undeclared=keeps_all)
        return NodeResult(outputs)

    async def preview_inputs(self, prepared: Prepared, ctx: NodeContext) -> dict[str, Json]:
        return _get_inputs(prepared, ctx)


def _get_inputs(prepared: Prepared, ctx: NodeContext) -> dict[str, Json]:
    return {name: ctx.pool.get_or_none(selector) for name, selector in prepared.variables}


def _read_declaration(declared: CodeOutput | str, depth: int = 1) -> Declaration:
    output = CodeOutput(type=declared) if isinstance(declared, str) else declared
    children = (output.children or {}) if depth < _MAX_DECLARED_DEPTH else {}
    declarations = {name: _read_declaration(child, depth + 1) for name, child in children.items()}
    return Declaration(parse_type(output.type) or ValueType.ANY, declarations or None)


def _find_problems(spec: NodeSpec, config: CodeConfig) -> Iterator[Problem]:
    """Yield warnings only: a node whose outputs are pinned needs neither its language nor its code."""
    language = LANGUAGES.get(config.code_language)
    if language is None:
        name = config.code_language.strip()
        message = _describe_unsupported(name) if name else "Language: choose one"
        yield build_warning("code.language", message, node=spec.id, field="code_language")
    if not config.code.strip():
        yield build_warning("code.empty", "The code is empty", node=spec.id, field="code")
    elif language is not None and not _defines_main(config.code, language):
        message = "The code must define a function main"
        yield build_warning("code.main", message, node=spec.id, field="code")
    names = [variable.variable for variable in config.variables]
    for index, name in enumerate(names):
        message = f"Several variables have the name {name}" if name in names[:index] else ""
        is_argument = config.calling == "keywords" and language != JAVASCRIPT
        if is_argument and not name.isidentifier():
            message = f"Variable {index + 1} › Name: choose one that Python can use"
        if message:
            yield Problem("code.variable", message, spec.id, f"variables.{index}.variable")
    for name, output in (config.outputs or {}).items():
        type_name = output if isinstance(output, str) else output.type
        if parse_type(type_name) is None:
            message = f"Output {name} › Type: choose one"
            yield Problem("code.output_type", message, spec.id, f"outputs.{name}.type")


def _defines_main(source: str, language: str) -> bool:
    pattern = _JAVASCRIPT_MAIN if language == JAVASCRIPT else _MAIN_DEFINITION
    return pattern.search(source) is not None


def _describe_unsupported(language: str) -> str:
    return f"{language} code is not supported: rewrite it in Python"
