"""List: filter, pick, order and cut a list, always in this order."""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from workflows.engine.comparisons import canonical_operator
from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.invalid import config_problems
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
from workflows.engine.list_operations import (
    checked_items,
    failed,
    first_and_last,
    keeps,
    nth,
    ordered,
    size_of,
)
from workflows.engine.problems import Problem, warning
from workflows.engine.templating import render_text
from workflows.engine.variables import VariablePool


LISTS: Final = ("array[string]", "array[number]", "array[boolean]", "array[file]")


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    enabled: bool = False

    @field_validator("enabled", mode="before")
    @classmethod
    def _switch(cls, value: Any) -> Any:
        return bool(value)


class FilterCondition(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    key: str = ""
    comparison_operator: str = "contains"
    value: Any = ""


class FilterBy(_Part):
    conditions: tuple[FilterCondition, ...] = ()


class ExtractBy(_Part):
    serial: str | int = "1"


class OrderBy(_Part):
    key: str = ""
    value: str = "asc"


class Limit(_Part):
    size: int | str = -1


class ListConfig(NodeConfig):
    variable: tuple[str, ...] = ()
    var_type: str = ""
    item_var_type: str = ""
    filter_by: FilterBy = FilterBy()
    extract_by: ExtractBy = ExtractBy()
    order_by: OrderBy = OrderBy()
    limit: Limit = Limit()


class ListOperator(NodeKind[ListConfig, ListConfig]):
    name = "list-operator"
    title = gettext_noop("List")
    description = gettext_noop("Filters, orders and cuts a list.")
    group = "data"
    config_model = ListConfig
    fields = (
        Field("variable", gettext_noop("List"), Widget.SELECTOR, required=True, wants=LISTS),
        Field("filter_by", gettext_noop("Filter"), Widget.SECTION, fields=(
            Field("enabled", gettext_noop("Use"), Widget.SWITCH),
            Field("conditions", gettext_noop("Keep items that"), Widget.LIST_FILTERS),
        )),
        Field("extract_by", gettext_noop("One item"), Widget.SECTION, fields=(
            Field("enabled", gettext_noop("Use"), Widget.SWITCH),
            Field("serial", gettext_noop("Its number, from 1"), Widget.TEMPLATE, default="1"),
        )),
        Field("order_by", gettext_noop("Order"), Widget.SECTION, fields=(
            Field("enabled", gettext_noop("Use"), Widget.SWITCH),
            Field("key", gettext_noop("Attribute of the files"), Widget.TEXT),
            Field("value", gettext_noop("Direction"), Widget.CHOICE, default="asc", choices=(
                ("asc", gettext_noop("Smallest first")),
                ("desc", gettext_noop("Largest first")),
            )),
        )),
        Field("limit", gettext_noop("First items only"), Widget.SECTION, fields=(
            Field("enabled", gettext_noop("Use"), Widget.SWITCH),
            Field("size", gettext_noop("At most"), Widget.NUMBER, default=10),
        )),
    )  # fmt: skip

    def check(self, spec: NodeSpec) -> list[Problem]:
        try:
            config = self.configure(spec)
        except ValidationError as invalid:
            return config_problems(spec.id, invalid, self.fields)
        return [*_problems(spec, config)]

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        config = self.configure(spec)
        item = config.item_var_type or config.var_type.removeprefix("array[").removesuffix("]")
        return (
            Output("result", config.var_type or "array[any]"),
            Output("first_record", item or "any"),
            Output("last_record", item or "any"),
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        variable = self.configure(spec).variable
        return (variable,) if variable else ()

    def run(self, prepared: ListConfig, ctx: NodeContext) -> NodeResult:
        if not prepared.variable:
            raise failed("There is no list to work on")
        items = checked_items(ctx.pool.require(prepared.variable))
        ctx.give({"variable": items})
        return NodeResult(first_and_last(_worked_on(items, prepared, ctx.pool)))


def _worked_on(items: list[Json], config: ListConfig, pool: VariablePool) -> list[Json]:
    if not items:
        return []
    if config.filter_by.enabled:
        for condition in config.filter_by.conditions:
            expected = _rendered(condition.value, pool)
            items = keeps(items, condition.key, condition.comparison_operator, expected)
    if config.extract_by.enabled:
        items = nth(items, render_text(str(config.extract_by.serial), pool))
    if config.order_by.enabled:
        items = ordered(items, config.order_by.key, descending=config.order_by.value == "desc")
    if config.limit.enabled:
        size = config.limit.size
        items = items[: size_of(render_text(size, pool) if isinstance(size, str) else size)]
    return items


def _rendered(value: Json, pool: VariablePool) -> Json:
    if isinstance(value, str):
        return render_text(value, pool)
    if isinstance(value, list | tuple):
        return [_rendered(item, pool) for item in value]
    return value


def _problems(spec: NodeSpec, config: ListConfig) -> Iterator[Problem]:
    if not config.variable:
        message = "There is no list to work on"
        if spec.data.get("operation"):
            message = f"The operation {spec.data['operation']!r} can't be run here"
        yield warning("list.variable", message, node=spec.id, field="variable")
    for index, condition in enumerate(config.filter_by.conditions):
        if canonical_operator(condition.comparison_operator) is None:
            message = f"Unknown comparison operator {condition.comparison_operator!r}"
            path = f"filter_by.conditions.{index}.comparison_operator"
            yield Problem("list.operator", message, spec.id, path)
