"""Questions asked of the same evaluation: what stands, what would change and why, what a policy would say."""
