"""The tables of memory: entries and their history, curation, access and quotas."""

from memory.models.curation import Curation, CurationRule, Proposal
from memory.models.documents import DocumentUpload
from memory.models.embeddings import Embedding
from memory.models.emergency_access import EmergencyAccess
from memory.models.entries import Change, Entry, Read, Revision
from memory.models.erasures import Erasure
from memory.models.namespaces import Namespace
from memory.models.policies import Policy
from memory.models.postings import Group, Posting
from memory.models.run_people import RunPerson
from memory.models.wiki_jobs import WikiJob


__all__ = [
    "Change",
    "Curation",
    "CurationRule",
    "DocumentUpload",
    "Embedding",
    "EmergencyAccess",
    "Entry",
    "Erasure",
    "Group",
    "Namespace",
    "Policy",
    "Posting",
    "Proposal",
    "Read",
    "Revision",
    "RunPerson",
    "WikiJob",
]
