"""What runs beside each sandbox, on the machine: the process that has its network in hand.

One warden for each sandbox, forked by the launcher, with limits of its own, and ended with the
sandbox: whatever a sandbox can size is sized here, where nobody else is held up by it. The
standard library and `guest` alone, as the launcher has nothing else on its path.
"""
