"""Decisions: one room per subject, with its policies, checks and stages. `pipeline` lists the stages."""
