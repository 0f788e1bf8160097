"""ConditionPolicies: how they are compiled, and the stage that evaluates them."""
