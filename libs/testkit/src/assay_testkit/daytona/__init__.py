"""A stand-in for Daytona on this machine, for tests: its protocol, with real processes behind it.

It speaks what the SDK speaks (REST, Socket.IO events, the toolbox), runs each sandbox in
namespaces of its own, and can be made to fail in the ways the real one does.
"""
