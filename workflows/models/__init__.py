"""The models of the workflows app. Import them from here."""

from workflows.models.cases import TestCase, TestResult
from workflows.models.comments import Comment
from workflows.models.conversation import Conversation, Message
from workflows.models.debugging import DryRunChange, Pin
from workflows.models.draft import Edge, Node, Variable, WorkflowSecret
from workflows.models.editing import Revision
from workflows.models.first_steps import FirstSteps
from workflows.models.folder import Folder, FolderTree
from workflows.models.journal import RunEvent, RunPartial, StepIntent, StepPart
from workflows.models.provider import (
    ConnectionKind,
    Credential,
    ModelCall,
    ModelMapping,
    ModelProvider,
    ToolConnection,
)
from workflows.models.reports.data_sets import DataCase, DataSet, Evaluation, EvaluationResult
from workflows.models.reports.feedback import Feedback
from workflows.models.reports.usage import ModelUsage, RunUsage
from workflows.models.run import Run, Step
from workflows.models.task import Task
from workflows.models.version import Snapshot, Version
from workflows.models.waits import RunWait
from workflows.models.workflow import StreamName, Workflow


__all__ = [
    "Comment",
    "ConnectionKind",
    "Conversation",
    "Credential",
    "DataCase",
    "DataSet",
    "DryRunChange",
    "Edge",
    "Evaluation",
    "EvaluationResult",
    "Feedback",
    "FirstSteps",
    "Folder",
    "FolderTree",
    "Message",
    "ModelCall",
    "ModelMapping",
    "ModelProvider",
    "ModelUsage",
    "Node",
    "Pin",
    "Revision",
    "Run",
    "RunEvent",
    "RunPartial",
    "RunUsage",
    "RunWait",
    "Snapshot",
    "Step",
    "StepIntent",
    "StepPart",
    "StreamName",
    "Task",
    "TestCase",
    "TestResult",
    "ToolConnection",
    "Variable",
    "Version",
    "Workflow",
    "WorkflowSecret",
]
