"""The vocabulary of muster: types with almost no behaviour.

Everything above this layer speaks in these words. Nothing here reads a file, a clock or the environment.
"""

from muster.model.decision import Because, Decision, Held, Outcome, Path, Pulse, Wake
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.kinds import Kind
from muster.model.source import Layer, Part, Place, SourceFile
from muster.model.tree import Tree

__all__ = [
    "Because",
    "Decision",
    "Finding",
    "Held",
    "Kind",
    "Layer",
    "ObjectId",
    "Outcome",
    "Part",
    "Path",
    "Place",
    "Pulse",
    "Severity",
    "SourceFile",
    "Tree",
    "Wake",
]
