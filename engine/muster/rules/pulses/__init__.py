"""PulsePolicies: which objects adapters are asked to look at again, and when."""
