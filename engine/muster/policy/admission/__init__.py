"""ValidatingAdmissionPolicies, compiled, and the requests that they are asked about."""
