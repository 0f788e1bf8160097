"""Admission: ValidatingAdmissionPolicies as rules of the repository.

On a live hub, an API server asks these policies about each request. Here the request is what a revision does to an
object: a new one creates, a changed one updates, one that is gone deletes. What is refused is an error at the object,
which then keeps its last derived state; the others are decided all the same.
"""
