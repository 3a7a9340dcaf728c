"""What the gallery says about each sample, in words for somebody who has never seen one."""

from django.utils.translation import gettext_lazy as _

from workflows.samples.sample import Sample


CONVERSATION, PERSON, EVERYONE = "conversation", "user", "global"

# In the order of the gallery; the first one is where a newcomer should begin.
SAMPLES = (
    Sample(
        "chatbot",
        _("A chatbot that remembers"),
        (
            _("It remembers what each person tells it, across conversations, and for nobody else."),
            _("Tell it something about yourself, open a new conversation, and ask for it."),
            _("Watch the run: what was recalled, with its score, and what was written."),
            _("Forget the memory on its page and ask again; undo, and it is known once more."),
        ),
        shows=(_("recall and remember"), _("where it comes from")),
        scopes=(PERSON,),
        is_chat=True,
    ),
    Sample(
        "profile",
        _("Profile card"),
        (
            _("It keeps three fields about each person: name, diet and language."),
            _(
                "Tell it that you speak Spanish: it knows another language, and asks before it changes."
            ),
            _("Look at the variable that waits for your yes, and at the field's earlier values."),
            _("Add a field: one more line in the code node, and it is asked for as well."),
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
            _(
                "What belongs to a case stays in its conversation; what is true of the customer is kept."
            ),
            _("Report an error, say which plan you have, close the case, and begin a new one."),
            _("Look at the two recalls that run side by side: this case, and this customer."),
            _("Put an LLM node in place of the summary's template."),
        ),
        shows=(_("two memories at once"), _("summary at the end")),
        scopes=(CONVERSATION, PERSON),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "handbook",
        _("Team handbook"),
        (
            _("Facts that everybody in the team reads; what is proposed waits for an editor."),
            _("Ask when the kitchen is cleaned, then propose a fact: it isn't told yet."),
            _("Look under Memory for the proposal in quarantine, and set it to long-term."),
            _("Keep proposals at once: change the tier of the memory node."),
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
            _("It makes pages of what is said: one about each thing, that refer to each other."),
            _(
                "Tell it two things about the blue printer, write “make pages”, and ask where it is."
            ),
            _(
                "Look under Memory, Knowledge: it went into the page that was there, not into a twin."
            ),
            _("With a model, put an LLM node with structured output in place of the code."),
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
            _("It takes decisions and tasks out of notes, and keeps each of them once."),
            _("Give it “Decision on launch: 2 June”: it says which older decision this replaces."),
            _("Look at the iteration: one round for each decision, one key for each topic."),
            _("With a model, put an LLM node with structured output in place of the code."),
        ),
        shows=(_("iteration"), _("merging duplicates")),
        scopes=(EVERYONE,),
        has_memories=True,
    ),
    Sample(
        "reminder",
        _("Follow-up reminder"),
        (
            _("It keeps what is to be followed up until its day, and forgets it by itself."),
            _("Ask what is due; then remember something for tomorrow, and ask again."),
            _("Look at a reminder under Memory: its day, and when it expires."),
            _("Give an address, and what is due is sent there; a schedule is still to come."),
        ),
        shows=(_("expiry"), _("HTTP request")),
        scopes=(PERSON,),
        has_memories=True,
    ),
    Sample(
        "study",
        _("Study coach"),
        (
            _("It keeps a mark for each topic, lets it fade, and asks for the weakest."),
            _("Write “quiz me”, answer once right and once wrong, and add a card of your own."),
            _("Look at the marks under Memory, and how each answer becomes a revision."),
            _("Change how quickly a mark fades: one number at the top of the code."),
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
            _("Facts about an account are the team's; notes about it are your own."),
            _("Ask for the brief of Northwind, then add a note only for yourself."),
            _("Look at the two memories: who may read each of them is not the same."),
            _("Add a third recall, of what was said in this conversation."),
        ),
        shows=(_("two permissions"), _("template")),
        scopes=(EVERYONE, PERSON),
        has_memories=True,
    ),
    Sample(
        "router",
        _("A router that learns corrections"),
        (
            _(
                "It sorts tickets; a correction becomes a rule, and the next ticket profits from it."
            ),
            _("Sort “My subscription renewed.” and say that billing is correct."),
            _("Look at the result: how many tickets were sorted right before, and after."),
            _("Add tickets to measure with: memories of the category “exam”."),
        ),
        shows=(_("learning from corrections"), _("measuring")),
        scopes=(EVERYONE,),
        has_memories=True,
    ),
    Sample(
        "diary",
        _("Research diary"),
        (
            _("It keeps findings one by one, each with its source and its day."),
            _("Ask what bees see; then ask again as of 31 January, before the second finding."),
            _("Look at the loop: one finding a round, until none is left."),
            _("Keep who found it as well: one more line of metadata on the memory node."),
        ),
        shows=(_("loop"), _("sources")),
        scopes=(PERSON,),
        has_memories=True,
    ),
    Sample(
        "forget-me",
        _("Forget me"),
        (
            _("It shows everything known about a person, asks, and makes it vanish."),
            _("Be the test person sam, write “forget me”, and then ERASE."),
            _("Look at the receipt: it names what was forgotten, never what it said."),
            _("It forgets what other workflows know about the person, too: try it as sam first."),
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
            _("It answers from passages and says which; a wrong one isn't used again."),
            _("Ask how long a refund takes, write “wrong”, and ask once more."),
            _("Look at the passages and at the feedback: both are memories of this workflow."),
            _("Add passages of your own; uploading documents is still to come."),
        ),
        shows=(_("documents"), _("feedback")),
        scopes=(EVERYONE,),
        is_chat=True,
        has_memories=True,
    ),
    Sample(
        "exchange",
        _("A workflow with a conversation's memory"),
        (
            _(
                "Recall what fits the query, answer with it, and keep the exchange for the next run."
            ),
            _("Run it twice in one conversation: tell it a fact, then ask for the fact."),
            _("Look at the two memory nodes: what one run stores, the next one recalls."),
            _(
                "Change the scope of both from conversation to user, and it holds in every conversation."
            ),
        ),
        scopes=(CONVERSATION,),
        is_block=True,
    ),
    Sample(
        "scopes",
        _("Three memories, one router"),
        (
            _("One form, three memories: this conversation's, this person's, and everyone's."),
            _("Tell it something for one of them, then ask in another: it isn't known there."),
            _("Look at the taken branch: a question is looked up, a statement is kept."),
            _("Put a node before the router that chooses the memory instead of the person."),
        ),
        scopes=(CONVERSATION, PERSON, EVERYONE),
        is_block=True,
    ),
)
