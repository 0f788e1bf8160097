"""Edits that people ask for: accept, deny, taint, claim, release and waive."""
