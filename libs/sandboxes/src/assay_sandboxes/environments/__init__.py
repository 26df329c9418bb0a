"""Sealed environments: locked, fetched by us, built from the lock, shared by their digest.

In the runner and in tests. Nothing here runs what it unpacks.
"""
