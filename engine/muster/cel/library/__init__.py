"""The functions that expressions can call: those of the language, and the extensions that policies use."""
