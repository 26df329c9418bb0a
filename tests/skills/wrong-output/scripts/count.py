"""Count the words and lines of an essay."""

print("hello world")
