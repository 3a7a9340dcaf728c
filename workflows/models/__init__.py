"""The models of the workflows app. Import them from here."""

from workflows.models.comments import Comment
from workflows.models.conversation import Conversation, Message
from workflows.models.debugging import DryRunChange, Pin
from workflows.models.draft import Edge, Node, Variable, WorkflowSecret
from workflows.models.editing import Revision
from workflows.models.first_steps import FirstSteps
from workflows.models.folder import Folder, FolderTree
from workflows.models.journal import RunCommit, RunEvent, RunPartial, StepIntent, StepPart
from workflows.models.provider import (
    Credential,
    KnowledgeMapping,
    ModelCall,
    ModelMapping,
    ModelProvider,
    ProviderModel,
)
from workflows.models.public_pages.public_page import PageAccess, PublicPage
from workflows.models.reports.active_runs import ActiveRun
from workflows.models.reports.budgets import StartCount
from workflows.models.reports.data_sets import DataCase, DataSet, Evaluation, EvaluationResult
from workflows.models.reports.feedback import Feedback
from workflows.models.reports.requests import IdempotencyKey
from workflows.models.reports.usage import ModelUsage, RunUsage
from workflows.models.reports.workers import Worker
from workflows.models.run import Run, Step
from workflows.models.stored_file import StoredFile
from workflows.models.task import Task
from workflows.models.tools.connection import ConnectionKind, ToolConnection
from workflows.models.tools.sign_in import SignInAttempt, SignInStatus, ToolSignIn
from workflows.models.triggers.subscriptions import (
    Delivery,
    DeliveryStatus,
    RunEnd,
    RunSubscription,
)
from workflows.models.triggers.trigger import Trigger, TriggerKind
from workflows.models.version import Snapshot, Version
from workflows.models.waits import RunWait
from workflows.models.workflow import StreamName, Workflow


__all__ = [
    "ActiveRun",
    "Comment",
    "ConnectionKind",
    "Conversation",
    "Credential",
    "DataCase",
    "DataSet",
    "Delivery",
    "DeliveryStatus",
    "DryRunChange",
    "Edge",
    "Evaluation",
    "EvaluationResult",
    "Feedback",
    "FirstSteps",
    "Folder",
    "FolderTree",
    "IdempotencyKey",
    "KnowledgeMapping",
    "Message",
    "ModelCall",
    "ModelMapping",
    "ModelProvider",
    "ModelUsage",
    "Node",
    "PageAccess",
    "Pin",
    "ProviderModel",
    "PublicPage",
    "Revision",
    "Run",
    "RunCommit",
    "RunEnd",
    "RunEvent",
    "RunPartial",
    "RunSubscription",
    "RunUsage",
    "RunWait",
    "SignInAttempt",
    "SignInStatus",
    "Snapshot",
    "StartCount",
    "Step",
    "StepIntent",
    "StepPart",
    "StoredFile",
    "StreamName",
    "Task",
    "ToolConnection",
    "ToolSignIn",
    "Trigger",
    "TriggerKind",
    "Variable",
    "Version",
    "Worker",
    "Workflow",
    "WorkflowSecret",
]
