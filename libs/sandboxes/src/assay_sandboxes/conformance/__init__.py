"""The conformance kit: checks that every provider of sandboxes runs against itself.

`suite.py` has the lists. Each check takes a `ProviderUnderTest` and raises an `AssertionError`,
or whatever the provider raised, where something is not as it is to be, and `NotApplicable` where it
says nothing. It needs no test framework; the README shows it with pytest.
"""
