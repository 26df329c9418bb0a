from assay_sandbox_runner.domain.outcome import files_made


def test_new_and_changed_files_are_made_files() -> None:
    before = {"given.csv": "10 1.0", "edited.txt": "5 1.0", "deleted.txt": "1 1.0"}
    after = {"given.csv": "10 1.0", "edited.txt": "5 2.0", "z.md": "1 3.0", "a.md": "1 3.0"}

    assert files_made(before, after) == ("a.md", "edited.txt", "z.md")
