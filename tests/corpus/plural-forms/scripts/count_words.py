import sys

from corpus_plurals import plural

if len(sys.argv) != 3:
    sys.exit("usage: count_words.py NUMBER NOUN")
count, noun = int(sys.argv[1]), sys.argv[2]
print(count, noun if count == 1 else plural(noun))
