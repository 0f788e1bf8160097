"""Scores: the AddOnPlacementScores that ScorePolicies derive, by which Placements prioritize."""
