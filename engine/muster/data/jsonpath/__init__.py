"""Kubernetes' JSONPath: the templates of `kubectl get -o jsonpath=...`, text with paths in braces, and single paths, as
feedback rules and ignored fields of works have them. `template` parses, `values` finds the values and fills them in.

The dialect is that of https://kubernetes.io/docs/reference/kubectl/jsonpath/ and of client-go's `util/jsonpath`. No
Python library reads it: existing ones know paths (RFC 9535), but neither templates nor `range`.
"""
