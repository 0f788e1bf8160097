"""The vocabulary of muster, and YAML in and out."""
