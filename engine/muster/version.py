"""The version of muster: a module of its own, so that naming it imports nothing else."""

__version__ = "0.1.0"
