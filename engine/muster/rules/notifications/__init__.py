"""NotificationPolicies: which transitions people are notified of."""
