"""List operator: filters a list, picks an item, sorts and limits the list, always in this order."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import field_validator

from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.comparisons import normalize_operator
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.templating import render_text
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.control.conditions import render_value
from workflows.engine.nodes.data.list_operations import (
    build_error,
    build_outputs,
    check_items,
    filter_items,
    parse_size,
    pick_item,
    sort_items,
)
from workflows.engine.nodes.data.single_operations import (
    OPERATIONS,
    OUTPUT_TYPES,
    apply_operation,
    describe_unsupported,
)
from workflows.engine.texts import gettext_noop


LIST_TYPES: Final = ("array[string]", "array[number]", "array[boolean]", "array[file]")


class OptionalStep(ConfigPart):
    enabled: bool = False

    @field_validator("enabled", mode="before")
    @classmethod
    def _convert_to_bool(cls, value: Any) -> bool:
        return bool(value)


class FilterCondition(ConfigPart):
    key: str = ""
    comparison_operator: str = "contains"
    value: Any = ""


class FilterBy(OptionalStep):
    conditions: tuple[FilterCondition, ...] = ()


class ExtractBy(OptionalStep):
    serial: str | int = "1"


class OrderBy(OptionalStep):
    key: str = ""
    value: str = "asc"


class Limit(OptionalStep):
    size: int | str = -1


class ListConfig(NodeConfig):
    variable: tuple[str, ...] = ()
    var_type: str = ""
    item_var_type: str = ""
    filter_by: FilterBy = FilterBy()
    extract_by: ExtractBy = ExtractBy()
    order_by: OrderBy = OrderBy()
    limit: Limit = Limit()
    # In xworkflow a node has one operation instead, whose settings are beside it.
    operation: str = ""
    output_variable: str = "result"
    second_input_selector: tuple[str, ...] = ()

    @property
    def settings(self) -> Mapping[str, Json]:
        return self.model_extra or {}


class ListOperator(NodeKind[ListConfig, ListConfig]):
    name = "list-operator"
    passes_text_on = True
    title = gettext_noop("List operator")
    description = gettext_noop("Filters, sorts and limits a list")
    group = "data"
    palette_order = 60
    icon = "list"
    family = "data"
    dialects = ("dify", "xworkflow")
    config_model = ListConfig
    fields = (
        Field("variable", gettext_noop("List"), Widget.SELECTOR, required=True, accepted_types=LIST_TYPES),
        Field("filter_by", gettext_noop("Filter"), Widget.SECTION, fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("conditions", gettext_noop("Filter condition"), Widget.LIST_FILTERS),
        )),
        Field("extract_by", gettext_noop("Extract item"), Widget.SECTION, fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("serial", gettext_noop("Item number, starting at 1"), Widget.TEMPLATE, default="1"),
        )),
        Field("order_by", gettext_noop("Order"), Widget.SECTION, fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("key", gettext_noop("File property"), Widget.TEXT),
            Field("value", gettext_noop("Direction"), Widget.CHOICE, default="asc", choices=(
                ("asc", gettext_noop("Ascending")),
                ("desc", gettext_noop("Descending")),
            )),
        )),
        Field("limit", gettext_noop("Limit"), Widget.SECTION, fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("size", gettext_noop("Max items"), Widget.NUMBER, default=10),
        )),
    )  # fmt: skip

    def check(self, spec: NodeSpec) -> list[Problem]:
        return super().check(spec) or [*_find_problems(spec, self.configure(spec))]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        config = self.configure(spec)
        if config.operation:
            return (
                Output(config.output_variable, OUTPUT_TYPES.get(config.operation, "array[any]")),
            )
        item_type = config.item_var_type or config.var_type.removeprefix("array[").removesuffix("]")
        return (
            Output("result", config.var_type or "array[any]"),
            Output("first_record", item_type or "any"),
            Output("last_record", item_type or "any"),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        return tuple(filter(None, (config.variable, config.second_input_selector)))

    def run(self, prepared: ListConfig, ctx: NodeContext) -> NodeResult:
        if not prepared.variable:
            raise build_error("List: choose a variable")
        if prepared.operation:
            return _apply_single(prepared, ctx)
        items = check_items(ctx.pool.require(prepared.variable))
        ctx.record_inputs({"variable": items})
        return NodeResult(build_outputs(_apply_operations(items, prepared, ctx.pool)))


def _apply_single(config: ListConfig, ctx: NodeContext) -> NodeResult:
    value, second = ctx.pool.require(config.variable), None
    if config.second_input_selector:
        second = ctx.pool.require(config.second_input_selector)
    ctx.record_inputs({"variable": value, **({} if second is None else {"second": second})})
    result = apply_operation(config.operation, value, config.settings, second)
    return NodeResult({config.output_variable: result})


def _apply_operations(items: list[Json], config: ListConfig, pool: VariablePool) -> list[Json]:
    if not items:
        return []
    if config.filter_by.enabled:
        for condition in config.filter_by.conditions:
            expected = render_value(condition.value, pool)
            items = filter_items(items, condition.key, condition.comparison_operator, expected)
    if config.extract_by.enabled:
        items = pick_item(items, render_text(str(config.extract_by.serial), pool))
    if config.order_by.enabled:
        items = sort_items(items, config.order_by.key, descending=config.order_by.value == "desc")
    if config.limit.enabled:
        items = items[: parse_size(render_value(config.limit.size, pool))]
    return items


def _find_problems(spec: NodeSpec, config: ListConfig) -> Iterator[Problem]:
    if config.operation and config.operation not in OPERATIONS:
        message = describe_unsupported(config.operation)
        yield build_warning("list.operation", message, node=spec.id, field="operation")
    for index, condition in enumerate(config.filter_by.conditions):
        if normalize_operator(condition.comparison_operator) is None:
            message = f"Filter › Condition {index + 1}: choose an operator"
            path = f"filter_by.conditions.{index}.comparison_operator"
            yield Problem("list.operator", message, spec.id, path)
