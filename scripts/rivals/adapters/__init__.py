"""One module a library, called as its environment, in which it is imported.

Each has `prepare(name, problem, sets, threads, cpus) -> Operation` for the kernels of that library
in the table of kernels.py.
"""
