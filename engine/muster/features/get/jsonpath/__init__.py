"""Templates of `kubectl get -o jsonpath=...`, text with paths in braces: `template` parses, `values` fills them in.

The dialect is that of https://kubernetes.io/docs/reference/kubectl/jsonpath/ and of client-go's `util/jsonpath`. No
Python library reads it: existing ones know paths (RFC 9535), but neither templates nor `range`.
"""
