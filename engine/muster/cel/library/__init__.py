"""The functions that expressions can call: those of the language, and extensions for policies."""
