"""What the five source documents ask for, row by row, and the tests that show it. ``docs/reference/seeds.md`` is made from it:

python -m tests.spec.seeds.requirements            write the page
python -m tests.spec.seeds.requirements --check    exit 1 where the page is another one
"""

import sys
from dataclasses import dataclass
from pathlib import Path


ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/reference/seeds.md"

KEEPING = "spec/providers/test_keeping.py::"
SCORES = "spec/providers/test_scores.py::"
RECALLING = "spec/providers/test_recalling.py::"
NODES = "engine/test_memory_nodes.py::"
RETRIEVAL = "engine/test_memory_retrieval.py::"
CONTEXT = "engine/nodes/memory/test_history_context.py::"
CURATE = "memory/services/curation/test_curate.py::"
PICTURE = "workflows/test_learning_picture.py::"
CURATOR = "memory/logic/curation/test_curator.py::"
NOTES = "memory/notes/test_seed_examples.py::"
STORE = "memory/core/item_store/test_store.py::"
TALK = "memory/logic/conversations/test_conversation.py::"
PAGES = "memory/logic/knowledge/test_pages.py::"
SAID_AGAIN = "memory/services/test_said_again.py::"
OFF = "config/test_memory_off.py::"
PLUGINS = "config/test_plugins_reach.py::"
SEED_0 = "spec/seeds/test_seed_0.py::"
SEED_1 = "spec/seeds/test_seed_1.py::"
SEED_4 = "spec/seeds/test_seed_4.py::"
STREAMS = "workflows/execution/test_streams.py::"
MERGED = "engine/agent/test_merged_workflows.py::"
TODO_MEMORY = "engine/agent/test_todo_memory.py::"
DURABLY_MERGED = "workflows/execution/test_merged_workflows.py::"
LEARNING = "durability/test_learning.py::"
TIERS = "durability/test_tiers.py::"
WIKI = "spec/seeds/test_seed_4_wiki.py::"
SERVED_WIKI = "memory/services/wiki/test_wiki.py::"
API_PAGES = "memory/api/test_knowledge.py::"

# Tests in these places run the product: a workflow, a worker, the API, a page, a command, or a service with PostgreSQL.
# The others test a class alone.
PRODUCT = (
    "config/",
    "durability/",
    "journeys/",
    "workflows/",
    "engine/agent/test_",
    "engine/test_",
    "memory/api/",
    "memory/management/",
    "memory/services/",
    "memory/views/",
    "memory/test_",
    "spec/providers/test_in_workflows.py",
    "spec/providers/test_histories_and_pages.py",
    "spec/seeds/test_seed_",
)
OF_THE_CODE = ("Everything public is documented", "No file over three hundred lines")

TITLES = {
    0: "Memory of a workflow: scopes, providers, nodes",
    1: "Curation after a task",
    2: "The retrieval node and its three tiers",
    3: "A memory of its own for each workflow",
    4: "Store, conversation, knowledge, retriever",
}


@dataclass(frozen=True, slots=True)
class Row:
    """``section`` is the seed's own; ``tests`` are below ``tests/``."""

    seed: int
    section: str
    asks: str
    tests: tuple[str, ...]

    @property
    def runs_product(self) -> bool:
        """Return whether one of the tests runs the product, not a class alone. What is asked of the code needs none."""
        return self.asks in OF_THE_CODE or any(test.startswith(PRODUCT) for test in self.tests)


def row(seed: int, section: str, asks: str, *tests: str) -> Row:
    return Row(seed, section, asks, tests)


ROWS = (
    # -- 0: §2 to §10, and the test tables of §14 ------------------------------------------------
    row(0, "§2.1", "The family of errors, each saying whether it is recoverable",
        SEED_0 + "test_error_of_memory_reaches_the_caller_as_its_status_with_a_sentence",
        "memory/core/test_errors.py::test_family_has_every_member_and_no_other",
        "memory/core/test_errors.py::test_error_says_whether_it_is_recoverable"),
    row(0, "§2.1", "An entry: id, namespace, key, value, metadata, score", SEED_0 + "test_entry_comes_back_with_all_that_it_was_given"),
    row(0, "§2.1", "The score says how relevant an entry is, and results are cut off by it",
        "memory/api/test_entries.py::test_min_score_over_http_leaves_out_what_meets_less",
        SCORES + "test_score_is_the_share_of_the_question_that_an_entry_meets",
        SCORES + "test_min_score_is_inclusive", SCORES + "test_min_score_that_nothing_reaches_gives_nothing",
        "engine/test_memory_fields.py::test_min_score_leaves_out_what_meets_less_of_the_question"),
    row(0, "§2.1", "A query: key, text, filter, top_k", SEED_0 + "test_query_narrows_by_key_text_metadata_and_number"),
    row(0, "§2.1", "store overwrites, recall, delete, clear_namespace", SEED_0 + "test_store_overwrites_delete_takes_one_and_clear_takes_all"),
    row(0, "§3.1", "Conversation, person and application are different memories",
        "spec/providers/test_in_workflows.py::test_every_scope_is_kept_where_its_namespace_says",
        KEEPING + "test_namespaces_never_meet"),
    row(0, "§3.3", "A scope without its variable is an error that names it", SEED_0 + "test_run_without_what_its_scope_needs_fails_naming_it",
        NODES + "test_missing_identity_fails_the_node_by_name"),
    row(0, "§3.3", "Ids of any text name one memory each",
        "workflows/execution/test_identifiers_of_any_text.py::test_person_group_and_conversation_of_any_text_from_run_to_erasure",
        "workflows/execution/test_identifiers_of_any_text.py::test_two_spellings_of_a_person_are_one_memory_and_two_people_are_two",
        "memory/core/test_scopes.py::test_two_pairs_of_ids_never_share_a_namespace"),
    row(0, "§4.1 A", "Nodes that recall and store",
        "spec/providers/test_in_workflows.py::test_second_run_recalls_the_first_and_another_conversation_does_not"),
    row(0, "§4.1 B", "A model that recalls by itself, beside nodes that recall",
        SEED_0 + "test_both_ways_to_recall_work_in_one_workflow_without_touching_each_other"),
    row(0, "§4.1 A", "The key that a store reports is there at once, in every tier and scope",
        SAID_AGAIN + "test_every_key_a_store_names_is_recalled_at_once",
        KEEPING + "test_alike_values_are_there_under_each_key"),
    row(0, "§4.2", "Where recalled memories are put among the messages",
        NODES + "test_injection_position_decides_where", NODES + "test_format_template_replaces_the_list"),
    row(0, "§4.3", "Nothing recalled, nothing injected", NODES + "test_nothing_recalled_injects_nothing"),
    row(0, "§4.4", "Scenario 1: several models share one recall", NODES + "test_scenario_1_two_models_share_one_recall"),
    row(0, "§4.4", "Scenario 2: each recalls in a scope of its own", NODES + "test_scenario_2_each_recall_has_its_own_scope"),
    row(0, "§4.4", "Scenario 3: what is stored is there for the next model",
        NODES + "test_scenario_3_a_store_is_visible_to_the_next_model_of_the_run",
        KEEPING + "test_write_is_visible_to_the_very_next_recall"),
    row(0, "§4.4", "Scenario 4: an agent has a window and a long-term memory, in their order",
        "engine/agent/test_memory.py::test_agent_has_a_window_and_a_long_term_memory",
        "engine/agent/test_memory.py::test_resumed_agent_works_with_the_memory_of_its_first_prompt",
        NODES + "test_scenario_4_window_and_injected_memory_keep_their_order"),
    row(0, "§4.5", "The window of a conversation stays as it was, beside injected memory",
        NODES + "test_scenario_4_window_and_injected_memory_keep_their_order"),
    row(0, "§5.1", "memory-recall: results and count, exact key, filter", SEED_0 + "test_recall_gives_results_and_count_and_store_gives_key_and_stored",
        NODES + "test_recall_exact_key_and_metadata"),
    row(0, "§5.1", "memory-recall: five entries by default, or top_k", SEED_0 + "test_recall_gives_five_entries_unless_it_is_told_how_many"),
    row(0, "§5.2", "memory-store: a key with variables, metadata and metadata_selectors; stored and key",
        SEED_0 + "test_recall_gives_results_and_count_and_store_gives_key_and_stored"),
    row(0, "§6", "A provider in memory, shared by runs", NODES + "test_section_13_memory_outlives_the_runner"),
    row(0, "§8.1", "A plug-in registers a provider", PLUGINS + "test_workflow_runs_with_the_memory_of_a_plugin"),
    row(0, "§9.1", "Each operation is in the trail, with its success",
        "memory/services/test_round_trip.py::test_each_operation_and_each_refusal_is_in_the_trail_without_its_values",
        "memory/services/test_walls_at_random.py::test_nothing_crosses_a_wall_in_postgres"),
    row(0, "§9.2", "Only allowed prefixes, only so many entries", SEED_0 + "test_limits_of_the_team_hold_for_its_runs",
        KEEPING + "test_policy_prefixes_are_the_only_namespaces",
        KEEPING + "test_namespace_full_refuses_new_keys_but_not_overwrites"),
    row(0, "§9.3", "A value has only so many bytes", SEED_0 + "test_limits_of_the_team_hold_for_its_runs",
        KEEPING + "test_value_bytes_are_utf8_of_compact_json",
        "memory/core/test_policy.py::test_value_is_counted_in_utf8_bytes_of_compact_json"),
    row(0, "§12", "Its document, to the byte",
        "workflows/test_samples.py::test_exchange_is_the_seeds_document_to_the_byte",
        NODES + "test_section_12_second_run_recalls_the_first",
        NODES + "test_section_12_other_conversation_recalls_nothing"),
    row(0, "§13", "The memory outlives who runs", NODES + "test_section_13_memory_outlives_the_runner"),
    row(0, "§14.1 provider", "Errors; an entry survives being written and read; a question is made",
        SEED_0 + "test_entry_comes_back_with_all_that_it_was_given", SEED_0 + "test_query_narrows_by_key_text_metadata_and_number",
        "memory/core/test_errors.py::test_docstring_of_an_error_is_a_sentence_for_people",
        KEEPING + "test_any_json_stored_comes_back_unchanged", KEEPING + "test_entry_stored_has_everything_it_was_given"),
    row(0, "§14.1 resolver", "The namespace of each scope; what is missing is named; the default application",
        "spec/providers/test_in_workflows.py::test_every_scope_is_kept_where_its_namespace_says",
        SEED_0 + "test_run_without_what_its_scope_needs_fails_naming_it",
        "memory/core/test_scopes.py::test_scope_word_means_this_namespace",
        "memory/core/test_scopes.py::test_missing_system_variable_is_named"),
    row(0, "§14.1 in_memory", "Store, read, change, delete; namespaces apart; top_k; clearing",
        SEED_0 + "test_store_overwrites_delete_takes_one_and_clear_takes_all",
        KEEPING + "test_same_key_overwrites_and_the_old_value_stays_in_history",
        KEEPING + "test_delete_says_whether_there_was_anything", KEEPING + "test_namespaces_never_meet",
        RECALLING + "test_top_k_keeps_the_best", KEEPING + "test_clear_empties_one_namespace_and_says_how_much"),
    row(0, "§14.1 types", "Scope words are read; where injection goes by default",
        "memory/core/test_scopes.py::test_unknown_scope_is_named_with_the_known_ones",
        NODES + "test_injection_position_decides_where"),
    row(0, "§14.1 nodes", "What the nodes give; no provider is an error; exact key",
        NODES + "test_recall_exact_key_and_metadata", NODES + "test_no_provider_fails_the_node_clearly",
        NODES + "test_missing_identity_fails_the_node_by_name"),
    row(0, "§14.2", "From start through recall, model and store to the end",
        NODES + "test_section_12_second_run_recalls_the_first"),
    row(0, "§14.2", "Across runs", "spec/providers/test_in_workflows.py::test_second_run_recalls_the_first_and_another_conversation_does_not"),
    row(0, "§14.2", "A provider that a plug-in brings", PLUGINS + "test_memory_provider_of_a_plugin_is_made_by_name",
        PLUGINS + "test_workflow_runs_with_the_memory_of_a_plugin"),
    row(0, "§14.2", "Several nodes, one result", NODES + "test_scenario_1_two_models_share_one_recall"),
    row(0, "§14.3", "Without memory: no module, no table, its kinds unknown by name",
        OFF + "test_memory_off_no_module_of_it_is_loaded", OFF + "test_memory_off_database_has_no_table_of_it",
        OFF + "test_memory_off_its_nodes_are_unknown_by_name",
        OFF + "test_memory_off_recalling_into_a_prompt_is_unknown_by_name"),
    row(0, "§14.3", "Memory without its nodes", OFF + "test_memory_nodes_off_leaves_memory_and_hides_its_nodes",
        OFF + "test_memory_nodes_off_leaves_recalling_into_a_prompt"),
    # -- 1: stages and acceptance -----------------------------------------------------------------
    row(1, "Stage 2.1", "Duplicates become one", SAID_AGAIN + "test_three_of_the_same_are_one_with_three_proofs",
        SAID_AGAIN + "test_working_entry_under_a_chosen_key_is_a_proof_once_and_stays", CURATE + "test_said_again_in_another_run_is_one_proof_more",
        CURATOR + "test_said_again_is_one_proof_more"),
    row(1, "Use", "A task is created and executed over HTTP",
        "workflows/test_tasks.py::test_task_is_created_read_and_executed_by_the_teams_own_workflow"),
    row(1, "Components 2", "Summary, learnings, errors, solutions, tags and category become task:, error: and learning: entries",
        SEED_1 + "test_finished_run_leaves_an_execution_and_what_was_learnt_with_their_importance",
        SEED_1 + "test_failed_run_leaves_its_error_and_says_so",
        CURATE + "test_finished_run_leaves_task_error_and_learning_with_where_they_came_from"),
    row(1, "Components 3", "Found without embeddings, by full text", SEED_1 + "test_full_text_search_finds_what_a_task_left"),
    row(1, "Stage 2.2", "Importance", SEED_1 + "test_finished_run_leaves_an_execution_and_what_was_learnt_with_their_importance",
        "memory/logic/curation/test_judgements.py::test_importance_adds_up_what_speaks_for_it"),
    row(1, "Stage 2.3", "An end for what ends", "memory/logic/curation/test_judgements.py::test_life_is_chosen",
        "memory/test_expiry.py::test_sweep_puts_away_what_is_over_in_every_team_and_nothing_else"),
    row(1, "Stage 2.4", "In batches", CURATE + "test_junk_of_a_long_transcript_is_kept_out_and_doubles_are_one",
        "memory/logic/curation/test_model_curator.py::test_batches_keep_order_and_budget"),
    row(1, "Stage 3.1", "Full text", SEED_1 + "test_full_text_search_finds_what_a_task_left", RECALLING + "test_question_finds_its_answer_first"),
    row(1, "Stage 3.2", "Memory as a picture: what runs learned and where it was used, on one time axis",
        PICTURE + "test_page_draws_and_lists_the_same_links", PICTURE + "test_nothing_private_of_others_appears_not_even_as_a_number",
        "journeys/test_learning_picture.py::test_run_is_selected_in_the_picture_and_read_below"),
    row(1, "Stage 3.3", "Taken out as a file", "memory/services/transfer/test_file_format.py::test_imported_into_an_empty_team_answers_as_the_exported_did"),
    row(1, "Stage 3.4", "Links across tasks",
        "memory/services/test_review.py::test_links_across_runs_are_made_without_a_person_where_nobody_reviews",
        PICTURE + "test_entries_lead_from_the_run_that_wrote_them_to_those_that_used_them",
        PICTURE + "test_namespaces_are_joined_in_one_picture"),
    row(1, "Acceptance 1", "A finished task starts curation by itself",
        "durability/test_learning.py::test_similar_task_is_reminded_of_what_the_last_one_taught"),
    row(1, "Acceptance 1", "What matters is extracted", CURATE + "test_finished_run_leaves_task_error_and_learning_with_where_they_came_from"),
    row(1, "Acceptance 1", "Small talk, single words and refusals are no lessons",
        "memory/logic/curation/test_lessons.py::test_text_is_a_lesson_or_dropped_with_a_reason",
        SEED_1 + "test_task_that_the_model_could_not_do_teaches_nothing", SEED_1 + "test_small_talk_is_no_lesson"),
    row(1, "Acceptance 1", "And stored, whole or not at all", CURATE + "test_curation_is_one_change_and_one_row_in_the_trail",
        CURATE + "test_answer_beyond_repair_stores_nothing_and_is_seen"),
    row(1, "Acceptance 1", "The next task finds it", CURATOR + "test_next_task_finds_what_the_last_one_learnt",
        "durability/test_learning.py::test_similar_task_is_reminded_of_what_the_last_one_taught"),
    row(1, "Acceptance 2", "The task takes no longer",
        "durability/test_learning.py::test_model_that_fails_the_curator_touches_neither_the_run_nor_its_time"),
    row(1, "Acceptance 2", "Curation that takes too long is ended", CURATE + "test_model_that_hangs_is_ended_by_the_rules_clock",
        CURATOR + "test_model_that_hangs_is_stopped"),
    row(1, "Acceptance 2", "Curations at the same time don't mix", CURATOR + "test_many_curations_at_once_do_not_mix",
        CURATE + "test_row_taken_by_one_worker_is_nobody_elses"),
    row(1, "Acceptance 3", "No key in a log or a memory", CURATE + "test_secret_reaches_neither_model_nor_memory",
        CURATE + "test_model_that_fails_shows_why_without_its_secrets"),
    row(1, "Acceptance 3", "Curation runs apart, and its text is data",
        "memory/logic/curation/test_model_curator.py::test_output_cannot_close_its_quotation",
        CURATE + "test_order_out_of_an_output_waits_in_quarantine"),
    row(1, "Acceptance 3", "A failed one harms nothing", CURATE + "test_failure_while_storing_stores_nothing_and_is_seen",
        CURATOR + "test_model_that_fails_harms_nobody_and_shows"),
    # -- 2: the node, step by step ----------------------------------------------------------------
    row(2, "Core", "topic, else content, else document", RETRIEVAL + "test_query_is_topic_else_content_else_document",
        CONTEXT + "test_query_is_the_first_that_says_something"),
    row(2, "Core", "group_id names the space: another group of the same person, and nobody else's",
        "workflows/execution/test_other_groups.py::test_person_retrieves_from_another_group_of_theirs",
        "workflows/execution/test_other_groups.py::test_each_person_of_a_key_is_another_caller",
        "workflows/execution/test_other_groups.py::test_team_mate_without_a_run_in_the_group_gets_nothing_and_it_is_audited",
        RETRIEVAL + "test_another_group_has_another_memory",
        RETRIEVAL + "test_missing_group_is_told_by_name"),
    row(2, "Tiers", "Quarantine takes no part", RETRIEVAL + "test_quarantined_entries_never_reach_the_text",
        KEEPING + "test_quarantine_is_never_recalled"),
    row(2, "Tiers", "Working memory has a gate and lives a day", "memory/logic/entries/test_ingress.py::test_gate_decides",
        "memory/services/entries/test_tiers.py::test_working_entry_lives_a_day_unless_its_author_says_otherwise"),
    row(2, "Tiers", "Long-term memory is what was verified, and stays",
        "memory/logic/entries/test_tiers.py::test_nothing_verified_is_lost_by_expiry",
        "memory/test_promotion.py::test_what_is_important_used_or_said_twice_is_kept_and_the_rest_ends"),
    row(2, "Process 1, 7", "Events: running, then completed with the length",
        RETRIEVAL + "test_events_say_running_then_completed_with_the_length"),
    row(2, "Process", "The inputs stay whole; history_context is added",
        RETRIEVAL + "test_inputs_pass_through_unchanged_and_one_output_is_added"),
    row(2, "Faults", "An error is told as memory_retrieval_error, and the run goes on",
        RETRIEVAL + "test_failing_memory_is_told_and_the_run_goes_on_without",
        RETRIEVAL + "test_memory_that_never_answers_has_failed"),
    row(2, "Faults", "No memory at all: an empty text", RETRIEVAL + "test_missing_memory_is_told_and_the_run_goes_on_without"),
    row(2, "Injection", "Markdown: a heading, a record each with its relevance",
        TIERS + "test_working_memory_of_one_run_is_history_for_the_next_of_its_group", CONTEXT + "test_markdown_in_chinese",
        CONTEXT + "test_markdown_in_english"),
    row(2, "Injection", "The next model reads it", RETRIEVAL + "test_text_reaches_the_prompt_of_the_next_model"),
    row(2, "Order", "The ten newest of working memory, relevance 1.0",
        RETRIEVAL + "test_only_the_ten_newest_of_working_memory_are_taken",
        CONTEXT + "test_ten_newest_working_entries_come_first_with_score_one"),
    row(2, "Order", "Merged, without repeats, by relevance", CONTEXT + "test_merge_is_sorted_by_score_without_repeats",
        RETRIEVAL + "test_working_entries_come_first_then_long_term_by_score"),
    row(2, "All", "The same in a real worker",
        "durability/test_tiers.py::test_working_memory_of_one_run_is_history_for_the_next_of_its_group"),
    # -- 3: keys and lives ------------------------------------------------------------------------
    row(3, "Principle 1", "The workflow's name is in the key",
        STREAMS + "test_workflow_remembers_for_a_group_what_no_other_workflow_and_no_other_group_sees",
        "memory/core/test_scopes.py::test_every_stream_and_group_has_a_namespace_of_its_own",
        "memory/core/test_scopes.py::test_order_of_merged_streams_is_part_of_the_name",
        STREAMS + "test_renamed_workflow_keeps_its_memory_and_no_other_workflow_inherits_it",
        STREAMS + "test_merged_workflows_and_a_workflow_of_that_name_have_different_streams",
        STREAMS + "test_migration_moves_memory_from_ids_to_names"),
    row(3, "Principle 2", "Workflows know nothing of each other",
        STREAMS + "test_workflow_remembers_for_a_group_what_no_other_workflow_and_no_other_group_sees", NOTES + "test_example_1_what_desktop_was_told_chat_does_not_know"),
    row(3, "Principle 3", "Notes end: with the run, or after thirty minutes",
        STREAMS + "test_notes_are_there_for_the_run_and_cleared_when_it_ends", NOTES + "test_note_is_gone_after_thirty_minutes",
        NOTES + "test_notes_are_cleared_when_the_run_ends_and_messages_stay"),
    row(3, "Steps 3 to 8", "The model decides, works through its todos with shared notes, asks the person and retries",
        "engine/agent/test_todo.py::test_walk_asks_a_person_retries_a_step_and_shares_notes",
        "durability/test_todo_killed.py::test_todo_loop_survives_a_question_and_two_killed_workers"),
    row(3, "Steps 1 to 9", "A table over three todos: chat merges desktop, asks the person, retries a step, and calls a function",
        MERGED + "test_walk_of_the_original_design", DURABLY_MERGED + "test_walk_of_the_original_design_with_a_worker"),
    row(3, "Step 3", "The prompt lists the functions of merged workflows, as workflow.function",
        MERGED + "test_walk_of_the_original_design", MERGED + "test_function_of_a_merged_workflow_has_a_name_that_model_apis_accept",
        MERGED + "test_react_names_functions_as_people_do", MERGED + "test_merged_workflow_itself_is_a_function"),
    row(3, "Step 7", "The person's reply is stored in the stream's memory, ai:memory:{stream}:{group}",
        TODO_MEMORY + "test_reply_is_stored_in_the_stream_and_recalled_for_the_todo_that_needs_it",
        DURABLY_MERGED + "test_reply_is_in_the_merged_memory_and_recalled_with_a_worker"),
    row(3, "Step 8", "Each to-do retrieves the memory that is relevant to it",
        TODO_MEMORY + "test_reply_is_stored_in_the_stream_and_recalled_for_the_todo_that_needs_it",
        TODO_MEMORY + "test_later_run_of_the_group_recalls_the_reply_and_another_group_does_not",
        DURABLY_MERGED + "test_reply_is_in_the_merged_memory_and_recalled_with_a_worker"),
    row(3, "Step 8", "A command finds its function by title, alias or name",
        MERGED + "test_command_finds_a_function_by_any_of_its_names"),
    row(3, "Step 5", "The format of a step's answer, in Chinese and English",
        "engine/agent/test_todo_text.py::test_report_on_a_step", "engine/agent/test_todo_text.py::test_action_in_each_form"),
    row(3, "Step 9", "At the end notes go and messages stay", NOTES + "test_notes_are_cleared_when_the_run_ends_and_messages_stay",
        NODES + "test_notes_of_a_run_are_gone_when_it_ends_and_its_answer_has_them"),
    row(3, "Keys: messages", "By group", STREAMS + "test_workflow_remembers_for_a_group_what_no_other_workflow_and_no_other_group_sees",
        NOTES + "test_another_group_of_the_same_workflow_knows_nothing"),
    row(3, "Keys: run", "What a run is about, for three days", STREAMS + "test_run_that_remembers_writes_down_what_it_is_about",
        NOTES + "test_run_is_described_by_goal_todos_notes_and_stream_for_three_days"),
    row(3, "Notes", "A note has content, source, time, and is temporary or not",
        STREAMS + "test_run_reads_its_notes_and_what_it_is_about_through_the_gateway",
        NOTES + "test_note_is_its_content_source_time_and_whether_it_is_temporary",
        NOTES + "test_note_that_is_not_temporary_outlives_them"),
    row(3, "Example 1", "desktop is told, chat doesn't know",
        STREAMS + "test_workflow_remembers_for_a_group_what_no_other_workflow_and_no_other_group_sees", NOTES + "test_example_1_what_desktop_was_told_chat_does_not_know"),
    row(3, "Example 2", "A merged workflow's own memory", STREAMS + "test_merged_workflows_have_a_memory_that_neither_sees_alone",
        MERGED + "test_merged_run_has_a_memory_that_neither_workflow_reads_alone",
        NOTES + "test_example_2_merged_workflow_has_a_memory_of_its_own"),
    row(3, "Example 3", "Each step reads the notes before it, newest first",
        "engine/agent/test_todo.py::test_walk_asks_a_person_retries_a_step_and_shares_notes",
        NOTES + "test_example_3_each_step_reads_the_notes_of_those_before_newest_first"),
    # -- 4: §2 and §8 -------------------------------------------------------------------------------
    row(4, "F1", "save, get, delete, list", SEED_0 + "test_store_overwrites_delete_takes_one_and_clear_takes_all",
        STORE + "test_saved_item_comes_back_unchanged", STORE + "test_list_filter_lets_through"),
    row(4, "F2", "Messages by session: window or full", SEED_4 + "test_messages_of_a_conversation_are_kept_as_its_strategy_says",
        TALK + "test_sliding_window_keeps_the_last_turns_and_deletes_the_older_messages",
        TALK + "test_full_strategy_keeps_every_message_in_order"),
    row(4, "F3", "Pages: made, changed, deleted, found", SEED_4 + "test_page_is_written_changed_and_deleted_and_the_index_keeps_step",
        API_PAGES + "test_page_is_written_merged_found_linked_edited_and_deleted",
        PAGES + "test_page_is_added_read_updated_and_deleted"),
    row(4, "F4", "Found by title, summary and tags", SEED_4 + "test_page_is_found_by_title_summary_and_tags_without_an_embedder",
        SEED_4 + "test_workflow_writes_a_page_and_the_next_finds_it", PAGES + "test_search_finds_by_title_summary_and_tags"),
    row(4, "F5", "The index is in step", SEED_4 + "test_page_is_written_changed_and_deleted_and_the_index_keeps_step",
        PAGES + "test_index_is_always_in_step_with_the_pages"),
    row(4, "F6", "Another back end: four functions are enough for conversations and pages",
        "spec/providers/test_items.py::test_guide_gives_a_conversation_and_pages_to_four_functions",
        TALK + "test_sliding_window_keeps_the_last_turns_and_deletes_the_older_messages",
        PAGES + "test_page_is_added_read_updated_and_deleted",
        "spec/providers/test_histories_and_pages.py::test_nodes_do_the_same_with_every_provider",
        PLUGINS + "test_workflow_runs_with_the_memory_of_a_plugin"),
    row(4, "F7", "Eviction by age and by number", SEED_4 + "test_messages_of_a_conversation_are_kept_as_its_strategy_says",
        "memory/test_expiry.py::test_sweep_puts_away_what_is_over_in_every_team_and_nothing_else",
        STORE + "test_ttl_drops_what_is_older_at_the_next_save",
        STORE + "test_capacity_keeps_the_newest_whatever_the_order_they_came_in"),
    row(4, "F8", "Whole messages go, the oldest first", SEED_4 + "test_messages_of_a_conversation_are_kept_as_its_strategy_says",
        TALK + "test_capacity_deletes_the_oldest_whole_messages"),
    row(4, "NF1, §8", "No embedding needed", SEED_4 + "test_page_is_found_by_title_summary_and_tags_without_an_embedder",
        "memory/logic/test_plain.py::test_nothing_is_needed_but_memory_core_and_yaml",
        STORE + "test_store_needs_nothing_but_python"),
    row(4, "NF2, §8", "Errors, with is_recoverable", SEED_0 + "test_error_of_memory_reaches_the_caller_as_its_status_with_a_sentence",
        "memory/core/test_errors.py::test_error_says_whether_it_is_recoverable"),
    row(4, "NF3", "Many threads", "memory/services/test_many_writers.py::test_sixteen_writers_at_a_limit_of_one_hundred_store_exactly_one_hundred",
        STORE + "test_many_threads_save_delete_and_list_without_losing_any",
        KEEPING + "test_concurrent_writers_at_the_limit_store_exactly_the_limit"),
    row(4, "§5.2", "none, ttl and capacity, looked at every so many writes",
        SEED_4 + "test_messages_of_a_conversation_are_kept_as_its_strategy_says", STORE + "test_none_is_the_default_and_drops_nothing",
        STORE + "test_check_interval_looks_every_so_many_writes"),
    row(4, "§5.4", "Eviction first, then tool results are shortened", SEED_4 + "test_long_tool_result_is_shortened_and_what_the_person_said_is_not",
        TALK + "test_compaction_shortens_tool_results_first_and_leaves_the_rest_alone",
        TALK + "test_compaction_leaves_recent_messages_untouched",
        TALK + "test_compaction_never_drops_nor_shortens_what_a_person_said",
        "memory/logic/conversations/test_folding.py::test_compaction_drops_nothing_and_leaves_every_word_of_a_person"),
    row(4, "§8", "The retriever by overlap", SEED_4 + "test_page_is_found_by_title_summary_and_tags_without_an_embedder",
        "memory/logic/knowledge/test_retriever.py::test_overlap_is_dice_of_terms_and_pairs",
        "memory/logic/knowledge/test_retriever.py::test_retrieval_end_to_end",
        "memory/logic/knowledge/test_retriever.py::test_what_scores_too_little_is_left_out",
        "memory/logic/knowledge/test_retriever.py::test_score_beside_bm25_is_the_share_of_the_question_that_a_page_meets"),
    row(4, "§8", "Written down and read back", API_PAGES + "test_exported_archive_is_imported_elsewhere_as_it_was",
        STORE + "test_item_written_as_json_is_read_back_the_same"),
    row(4, "Appendix", "An agent keeps the wiki: sources, pages merged and linked", WIKI + "test_agent_records_a_source_writes_links_checks_and_reads_the_log",
        SERVED_WIKI + "test_second_source_goes_into_the_page_and_the_same_text_changes_nothing",
        "engine/agent/test_memory.py::test_source_is_cited_and_a_page_is_read_with_its_quoted_text"),
    row(4, "Appendix", "Raw, wiki, schema: what is stale is compiled anew from its sources",
        WIKI + "test_changed_and_forgotten_sources_make_pages_stale_and_nodes_and_api_compile_them",
        SERVED_WIKI + "test_model_compiles_from_quoted_sources_and_each_paragraph_keeps_its_source",
        SERVED_WIKI + "test_conversation_in_a_run_belongs_to_its_person_and_is_erased_with_them"),
    row(4, "Appendix", "index.md and log.md", WIKI + "test_agent_records_a_source_writes_links_checks_and_reads_the_log",
        SERVED_WIKI + "test_log_has_every_change_with_its_run_and_the_database_keeps_it"),
    row(4, "Appendix", "Lint: lost pages, broken links, twins, contradictions",
        SERVED_WIKI + "test_report_names_what_is_wrong_with_its_remedy", SERVED_WIKI + "test_model_finds_contradictions_that_rules_miss"),
    row(4, "Appendix", "A workflow keeps it, with a model or by rules", WIKI + "test_sample_is_fresh_and_works_by_rules_when_a_key_starts_it",
        WIKI + "test_run_of_a_key_writes_what_the_key_may_write_itself"),
    row(4, "§8", "Everything public is documented", STORE + "test_everything_public_is_documented"),
    row(4, "§8", "No file over three hundred lines", STORE + "test_modules_have_three_hundred_lines_at_most",
        "memory/logic/test_plain.py::test_no_module_is_longer_than_three_hundred_lines_and_each_says_what_it_is_for"),
)  # fmt: skip


def rendered() -> str:
    lines = [
        "# What the five source documents ask for, and what shows it",
        "",
        "Made by `python -m tests.spec.seeds.requirements`; a test fails where a named one is missing, or where none of a row's tests runs the",
        "product: a workflow, a worker, the API, a page, a command, or a service with PostgreSQL.",
    ]
    for seed, title in TITLES.items():
        lines += ["", f"## {seed}. {title}", "", "| Where | What | Test |", "| --- | --- | --- |"]
        lines += [
            f"| {one.section} | {one.asks} | {'<br>'.join(f'`{test}`' for test in one.tests)} |"
            for one in ROWS
            if one.seed == seed
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    if "--check" in sys.argv:
        stale = PAGE.read_text() != rendered()
        print(f"{PAGE.name} is stale: make docs." if stale else f"{PAGE.name} is up to date.")
        return int(stale)
    PAGE.write_text(rendered())
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
