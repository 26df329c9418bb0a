"""The launcher, and what is forked from it to become process 1 of a sandbox.

The standard library and `guest` alone: it is started apart from the runner, with nothing else on
its path. Process 1 can import nothing more once it has moved in.
"""
