"""Templates of `kubectl get -o jsonpath=...`: text with paths in braces.

template  from the text of a template to its parts, or to what is wrong with it and where
values    from a template and an object to text

The dialect is that of https://kubernetes.io/docs/reference/kubectl/jsonpath/ and of client-go's `util/jsonpath`, which
no library for Python reads: those that there are know paths (RFC 9535), and neither templates nor `range`.
"""
