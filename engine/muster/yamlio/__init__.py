"""YAML as data: strict loading with source positions, deterministic emitting, and edits that keep comments."""

from muster.yamlio.edit import EditError, append, remove, set_value
from muster.yamlio.emitter import emit
from muster.yamlio.excerpt import excerpt
from muster.yamlio.loader import load_documents
from muster.yamlio.positions import Mark, locate, locate_all
from muster.yamlio.problem import Document, Identity, Loaded, Problem

__all__ = [
    "Document",
    "EditError",
    "Identity",
    "Loaded",
    "Mark",
    "Problem",
    "append",
    "emit",
    "excerpt",
    "load_documents",
    "locate",
    "locate_all",
    "remove",
    "set_value",
]
