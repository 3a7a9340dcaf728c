"""Each column that names a person, a run, a conversation, an entry or a namespace is one by which an erasure looks for rows.

That every table is erased or stays for a reason is tested with a receipt (``tests.memory.services.erasure.test_erase``).
That isn't enough: a table can be searched by one of its columns, and have the person's words by another one.
"""

from django.apps import apps

from tests.memory.services.erasure.test_erase import STAYS


APPS = ("accounts", "memory", "workflows")
NAMES_SOMEBODY = frozenset(
    {
        *("subject", "person", "user", "conversation", "answered_by", "author"),
        *("run", "run_id", "source_run", "child_run_id", "called_by_start"),
        *("namespace", "entry", "place"),
    }
)

# By these columns, the rows of a person are looked for.
SEARCHED = frozenset(
    {
        *("accounts_auditperson.person",),
        *("memory_curation.place", "memory_curation.run_id"),
        *("memory_documentupload.namespace", "memory_documentupload.subject"),
        *("memory_embedding.entry", "memory_embedding.namespace", "memory_read.entry"),
        *("memory_emergencyaccess.namespace", "memory_change.namespace", "memory_entry.namespace"),
        *("memory_group.namespace", "memory_posting.namespace", "memory_wikijob.namespace"),
        *("memory_proposal.namespace", "memory_proposal.run_id", "memory_runperson.subject"),
        *("memory_revision.entry", "memory_revision.run_id"),
        *("workflows_conversation.subject", "workflows_message.conversation"),
        *("workflows_datacase.subject", "workflows_pin.subject", "workflows_feedback.run"),
        *(
            "workflows_run.subject",
            "workflows_run.called_by_start",
            "workflows_runcommit.run",
            "workflows_runpartial.run",
        ),
        *("workflows_runwait.run", "workflows_runwait.answered_by", "workflows_step.run"),
        *("workflows_steppart.run", "workflows_wouldbe.run"),
        *("workflows_storedfile.subject", "workflows_task.subject"),
    }
)

# What else names one of them in a table that is erased, and why no erasure needs to look there.
NEEDLESS = {
    "accounts_starttoken.user": "a link that signs an account in; it has no words",
    "workflows_firststeps.user": "which tips an account has closed",
    "memory_entry.source_run": "the run of the last revision, by which the entry is found",
    "memory_read.run_id": "that a run read an entry; the receipt counts the runs of others that did",
    "memory_runperson.run_id": "found by the person",
    "workflows_message.run": "found by the conversation, which has the same person",
    "workflows_run.conversation": "found by the person",
    "workflows_runwait.child_run_id": "the id of a run alone",
    "workflows_task.run": "found by the person, who is that of the run",
    "workflows_wouldbe.entry": "a value that a dry run would have stored, found by its run",
    "workflows_wouldbe.namespace": "found by its run",
}


def list_columns() -> set[str]:
    models = (model for app in APPS for model in apps.get_app_config(app).get_models())
    return {
        f"{model._meta.db_table}.{field.name}"
        for model in models
        if model._meta.managed and model._meta.db_table not in STAYS
        for field in model._meta.concrete_fields
        if field.name in NAMES_SOMEBODY
    }


def test_every_column_that_names_somebody_is_searched_or_says_why_not() -> None:
    unknown = list_columns() - SEARCHED - set(NEEDLESS)

    assert not unknown, f"search these in an erasure, or say here why not: {sorted(unknown)}"


def test_lists_name_columns_that_exist_once() -> None:
    assert SEARCHED | set(NEEDLESS) <= list_columns()
    assert SEARCHED.isdisjoint(NEEDLESS)
