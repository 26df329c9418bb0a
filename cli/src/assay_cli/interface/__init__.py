"""The words, options and help texts of the command; what they do is in `commands`.

Each imports its command when it is called: `assay lint` need not wait for what `assay up` needs.
"""
