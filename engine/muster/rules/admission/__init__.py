"""Admission: ValidatingAdmissionPolicies as rules of the repository.

On a live hub, an API server evaluates these policies for each request. Here the request is what a revision does to an
object: a new one is a CREATE, a changed one an UPDATE, a missing one a DELETE. A refusal is an error at the object,
which then keeps its last derived state; the others are decided all the same.
"""
