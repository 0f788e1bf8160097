"""YAML as data: strict loading with source positions, deterministic emitting, and edits that keep comments."""
