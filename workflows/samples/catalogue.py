"""The gallery's text about each sample, written for newcomers."""

from django.utils.translation import gettext_lazy as _

from workflows.samples.sample import Sample


CONVERSATION, PERSON, EVERYONE = "conversation", "user", "global"

# In the order of the gallery; the first one is where a newcomer should begin.
SAMPLES = (
    Sample(
        "chatbot",
        _("A chatbot that remembers"),
        (
            _("Remembers what each user says, across conversations and privately."),
            _("Tell it something about yourself, start a new conversation, and ask about it."),
            _(
                "Open the run to see the recalled memories with their relevance, and what was stored."
            ),
            _("Forget the memory and ask again. Undo, and it knows it again."),
        ),
        shows=(_("recall and remember"), _("where it comes from")),
        scopes=(PERSON,),
        is_chat=True,
    ),
    Sample(
        "profile",
        _("Profile card"),
        (
            _("Keeps three fields about each user: name, diet and language."),
            _(
                "Tell it that you speak Spanish. It knows another language and asks before changing it."
            ),
            _("See the variable that waits for confirmation, and the earlier values of the field."),
            _("To add a field, add one line to the Code node."),
        ),
        shows=(_("typed fields"), _("ask before changing")),
        scopes=(PERSON,),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "support",
        _("Support desk with case memory"),
        (
            _("Case details stay in their conversation. Facts about the customer are kept."),
            _("Report an error, name your plan, close the case, and start a new one."),
            _("See the two recalls that run in parallel: this case and this customer."),
            _("Replace the summary template with an LLM node."),
        ),
        shows=(_("two memories in parallel"), _("summary at the end")),
        scopes=(CONVERSATION, PERSON),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "handbook",
        _("Team handbook"),
        (
            _("Facts for the whole team. Proposed facts wait for approval by an editor."),
            _("Ask when the kitchen is cleaned, then propose a fact. It isn't used yet."),
            _("Find the proposal in quarantine under Memory and set it to long-term."),
            _("To accept proposals directly, change the tier in the Remember node."),
        ),
        shows=(_("shared facts"), _("quarantine")),
        scopes=(EVERYONE,),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "wiki",
        _("A wiki from conversations"),
        (
            _("Turns conversations into linked pages, one per topic."),
            _(
                "Tell it two things about the blue printer, write “make pages”, and ask where it is."
            ),
            _(
                "Under Memory → Knowledge, see that the existing page was extended instead of duplicated."
            ),
            _("With a model, replace the code with an LLM node with structured output."),
        ),
        shows=(_("knowledge pages"), _("conversation history")),
        scopes=(CONVERSATION, EVERYONE),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "meeting",
        _("Meeting notes to decisions and owners"),
        (
            _("Extracts decisions and tasks from notes and stores each of them once."),
            _(
                "Enter “Decision on launch: 2 June”. It names the older decision that this replaces."
            ),
            _("See the iteration: one round per decision, one key per topic."),
            _("With a model, replace the code with an LLM node with structured output."),
        ),
        shows=(_("iteration"), _("merging duplicates")),
        scopes=(EVERYONE,),
        has_memories=True,
    ),
    Sample(
        "reminder",
        _("Follow-up reminder"),
        (
            _("Keeps follow-ups until they are due and forgets them automatically."),
            _("Ask what is due, add a reminder for tomorrow, and ask again."),
            _("Open a reminder under Memory to see its date and when it expires."),
            _("Enter a URL to send due reminders there."),
        ),
        shows=(_("expiry"), _("HTTP request")),
        scopes=(PERSON,),
        has_memories=True,
    ),
    Sample(
        "study",
        _("Study coach"),
        (
            _("Scores each topic, lets scores fade over time, and asks about the weakest one."),
            _("Write “quiz me”, give one right and one wrong answer, and add your own card."),
            _("See the scores under Memory, and how each answer becomes a revision."),
            _("To change how quickly scores fade, edit the number at the top of the code."),
        ),
        shows=(_("numbers in memory"), _("code node")),
        scopes=(PERSON,),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "sales",
        _("Sales call brief"),
        (
            _("Facts about an account belong to the team. Your notes are private."),
            _("Ask for the Northwind brief, then add a private note."),
            _("See the two memories: they have different read access."),
            _("Add a third recall for the current conversation."),
        ),
        shows=(_("two permissions"), _("template")),
        scopes=(EVERYONE, PERSON),
        has_memories=True,
    ),
    Sample(
        "router",
        _("A router that learns corrections"),
        (
            _("Sorts tickets. Each correction becomes a rule for the next tickets."),
            _("Sort “My subscription renewed.” and correct it to billing."),
            _("The result shows the accuracy before and after the correction."),
            _("Add test tickets as memories with the category “exam”."),
        ),
        shows=(_("learning from corrections"), _("measuring")),
        scopes=(EVERYONE,),
        has_memories=True,
    ),
    Sample(
        "diary",
        _("Research diary"),
        (
            _("Stores findings one by one, each with its source and date."),
            _("Ask what bees see, then ask again as of 31 January, before the second finding."),
            _("See the loop: one finding per round until none is left."),
            _("To store who found it, add a line of metadata to the Remember node."),
        ),
        shows=(_("loop"), _("sources")),
        scopes=(PERSON,),
        has_memories=True,
    ),
    Sample(
        "forget-me",
        _("Forget me"),
        (
            _("Shows everything known about a user, asks for confirmation, and forgets it."),
            _("Switch to the test user sam, write “forget me”, and then ERASE."),
            _("The receipt lists the forgotten keys without their values."),
            _("It also forgets what other workflows know about the user. Try it as sam first."),
        ),
        shows=(_("export and forget"), _("asking first")),
        scopes=(PERSON, CONVERSATION),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "feedback",
        _("Answers from documents, with feedback"),
        (
            _("Answers from passages and cites them. A passage marked wrong isn't used again."),
            _("Ask how long a refund takes, write “wrong”, and ask again."),
            _("See the passages and the feedback: both are memories of this workflow."),
            _("Add your own passages under Memory."),
        ),
        shows=(_("documents"), _("feedback")),
        scopes=(EVERYONE,),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "exchange",
        _("A workflow with conversation memory"),
        (
            _("Recalls relevant memories, answers, and stores the exchange for the next run."),
            _("Run it twice in one conversation: state a fact, then ask about it."),
            _("See the two memory nodes: what one run stores, the next run recalls."),
            _("Change both scopes from conversation to user to remember across conversations."),
        ),
        scopes=(CONVERSATION,),
        is_block=True,
    ),
    Sample(
        "scopes",
        _("Three memories, one router"),
        (
            _("One form, three memory scopes: conversation, user and global."),
            _("Store something in one scope, then ask in another. It isn't known there."),
            _("See the branch taken: questions are looked up, statements are stored."),
            _("Add a node before the router that selects the scope automatically."),
        ),
        scopes=(CONVERSATION, PERSON, EVERYONE),
        is_block=True,
    ),
)
