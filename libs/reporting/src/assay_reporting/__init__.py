"""One report in; Markdown, HTML, JUnit, SARIF, score card and summary out."""
