"""What people do with muster: one room per verb or group of verbs."""
