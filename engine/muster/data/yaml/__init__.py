"""YAML as data: strict loading with source positions, deterministic output, and edits that keep comments."""
