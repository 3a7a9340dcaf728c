"""Makes a tool of a plain Python function: its parameters become the schema, its docstring the description."""

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.local_tool import LocalTool, RunTool, ToolServices, build_error


def build_function_tool(
    function: Callable[..., Any], *, needs_approval: bool = False, is_untrusted: bool = True
) -> LocalTool:
    """Return a tool that calls the function. A plain function runs in a thread, a coroutine in the event loop.

    An exception of the function is an error result with its message.
    """
    model = _build_model(function)
    schema = model.model_json_schema()
    schema.pop("title", None)
    spec = ToolSpec(function.__name__, inspect.getdoc(function) or "", schema)
    return LocalTool(
        spec,
        _build_run(function, model),
        title=function.__name__,
        needs_approval=needs_approval,
        is_untrusted=is_untrusted,
        most_tokens=0,
        most_cost=0.0,
    )


def _build_model(function: Callable[..., Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {}  # pydantic's own form: type and default
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"The tool {function.__name__} can't have the parameter *{name}")
        annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
        fields[name] = (
            annotation,
            ... if parameter.default is parameter.empty else parameter.default,
        )
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _build_run(function: Callable[..., Any], model: type[BaseModel]) -> RunTool:
    is_coroutine = inspect.iscoroutinefunction(function)

    async def run(arguments: Mapping[str, Json], _services: ToolServices) -> ToolResult:
        try:
            values = model.model_validate(arguments)
        except ValidationError as invalid:
            error = invalid.errors()[0]
            path = ".".join(map(str, error["loc"]))
            return build_error(f"The argument {path} is invalid: {error['msg']}")
        named = {name: getattr(values, name) for name in model.model_fields}
        try:
            if is_coroutine:
                value = await function(**named)
            else:
                value = await asyncio.to_thread(function, **named)
        except Exception as error:  # any error of somebody else's function is its result
            return build_error(f"{type(error).__name__}: {error}")
        return _build_result(value)

    return run


def _build_result(value: Any) -> ToolResult:
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, str):
        return ToolResult(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    data = json.loads(text)
    return ToolResult(text, data=tuple(data) if isinstance(data, list) else (data,))
