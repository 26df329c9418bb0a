"""What the use cases and workers need from the outside, by area.

Whatever asks the database raises `assay_servicekit.questions.Unavailable` when it does not answer.
"""
