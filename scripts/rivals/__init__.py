"""The built-in rivals: attention of other libraries in one program of docs/protocol.md.

`worker` is that program; `setup` installs the libraries, each into an environment of its own.
Only `adapters/` and what it imports need more than the standard library.
"""
