"""What the gateway does, one file for each area; it asks the services that know, and keeps nothing.

Every use case is a frozen dataclass that holds the ports it uses and is called.
"""
