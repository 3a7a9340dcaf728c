"""The settings of nodes that the models of their kinds don't declare, and what becomes of them.

A setting that a kind's model declares is carried out. Of the others, those named here are carried out elsewhere or have
no meaning when a workflow runs. Every other setting with a value is reported, because its author expects an effect.
A ``*`` in a path stands for the number of an item or for any one name.
"""

from collections.abc import Mapping
from typing import Final


# Layout, texts for people, and data that only the other product's forms use.
_FORMS: Final = frozenset(
    {
        *("type", "title", "desc", "selected", "width", "height", "version", "meta", "author"),
        *("isInIteration", "isInLoop", "isIterationStart", "iteration_id", "loop_id"),
        *("startNodeType", "start_node_type", "_*", "paramSchemas", "params"),
        *("is_team_authorization", "tool_description", "tool_node_version", "provider_show_name"),
        *("tool_label", "provider_icon", "provider_icon_dark", "position", "parentId", "zIndex"),
        *("plugin_unique_identifier", "plugin_id", "output_schema", "sourceType", "targetType"),
        *("agent_strategy_label", "isTruncated", "icon", "icon_dark", "hidden", "*.id"),
    }
)
# Settings that every node may have, which ``failure_policy`` and ``disabled_nodes`` read.
_POLICIES: Final = frozenset(
    {
        *("error_strategy", "default_value", "retry_config", "timeout_secs", "retry_safety"),
        "disabled",
    }
)
EVERYWHERE: Final = _FORMS | _POLICIES

# The name of a kind → the paths in the data of its nodes.
BY_KIND: Final[Mapping[str, frozenset[str]]] = {
    "start": frozenset(
        {
            *("variables.*.max_length", "variables.*.options", "variables.*.default"),
            *("variables.*.json_schema", "variables.*.hide", "variables.*.description"),
            *("variables.*.allowed_file_types", "variables.*.allowed_file_extensions"),
            "variables.*.allowed_file_upload_methods",
        }
    ),
    "end": frozenset({"outputs.*.type", "outputs.*.id"}),
    # Of addresses in the other installation, and what its forms derive from the settings.
    "trigger-webhook": frozenset(
        {
            *("webhook_url", "webhook_debug_url", "webhook_id", "async_mode", "timeout"),
            *("variables", "variables.*"),
        }
    ),
    "trigger-schedule": frozenset({"config", "config.*", "enabled"}),
    # In current versions a prompt names its variables itself.
    "llm": frozenset(
        {
            *("variables", "structured_output.schema", "prompt_template.*.id"),
            *("prompt_template.id", "prompt_config.jinja2_variables.*.value_type"),
            *("structured_output.*",),
        }
    ),
    "answer": frozenset({"variables"}),
    "http-request": frozenset(
        {
            *("variables", "body.data.*.id", "timeout.max_*"),
            *("headers.*.id", "params.*.id", "authorization.config.*"),
        }
    ),
    "parameter-extractor": frozenset({"variables", "parameters.*.id"}),
    # ``topics`` was the first name of ``classes``.
    "question-classifier": frozenset({"topics", "classes.*.*"}),
    "code": frozenset({"variables.*.value_type"}),
    "template-transform": frozenset({"variables.*.value_type", "variables.*.*"}),
    "variable-aggregator": frozenset({"advanced_settings.groups.*.groupId", "variable_type"}),
    "assigner": frozenset({"items.*.write_mode", "items.*.id"}),
    "if-else": frozenset({"cases", "conditions", "logical_operator"}),
    "iteration": frozenset({"output_item_type", "startNodeId", "iterator_value_type"}),
    "loop": frozenset({"loop_variables.*.id", "outputs"}),
    "human-input": frozenset({"delivery_methods", "inputs.*.*"}),
    # Weights are numbers, whatever the form calls them; a model's mode has no other meaning than in an LLM node.
    "knowledge-retrieval": frozenset(
        {
            "multiple_retrieval_config.weights.weight_type",
            *("single_retrieval_config.model.mode", "metadata_model_config.mode"),
            *(
                "metadata_filtering_conditions.conditions.*.metadata_id",
                "metadata_filtering_conditions.conditions.*.type",
            ),
        }
    ),
    "agent": frozenset(
        {
            *("agent_parameters", "agent_strategy_name", "agent_strategy_provider_name"),
            *("model.*", "tools.*.*", "memory.*"),
        }
    ),
}
# Of each model choice: what a form shows.
MODEL_FORMS: Final = frozenset(
    {"model.model_type", "model.type", "model.features", "model.entity", "model.model"}
)

# The keys of the sections ``app`` and ``workflow``, beside those that a reader understands, that only forms use.
SECTIONS: Final[Mapping[str, frozenset[str]]] = {
    "app": frozenset(
        {
            *("icon", "icon_type", "icon_background", "use_icon_as_answer_icon", "id", "author"),
            *("max_active_requests", "created_at", "updated_at", "tags", "permission"),
        }
    ),
    "workflow": frozenset({"graph", "id", "version", "hash", "marked_name", "marked_comment"}),
}
