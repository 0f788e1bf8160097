"""YAML as data: strict loading with source positions, deterministic emitting, and edits that keep comments."""

from muster.yamlio.emitter import emit
from muster.yamlio.excerpt import excerpt
from muster.yamlio.loader import load_documents
from muster.yamlio.problem import Document, Identity, Loaded, Problem

__all__ = ["Document", "Identity", "Loaded", "Problem", "emit", "excerpt", "load_documents"]
