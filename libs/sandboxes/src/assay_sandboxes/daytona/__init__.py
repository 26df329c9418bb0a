"""Sandboxes at Daytona. The SDK is heavy: import what is here only where it is used."""
