"""Sandboxes in memory, for tests of what uses them.

A fake sandbox understands a few words of shell: `true`, `false`, `exit N`, `echo WORDS`,
`cat FILE`, `mkdir`, `pwd`, `sleep SECONDS`, joined by `;` or `&&`, with `> FILE` and `>&2`; `find`,
which prints size, checksum and path of each file in the folder, ended by zeros; and words of its
own: `repeat N TEXT`, `install NAME VERSION NEEDS…`, `call DESTINATION`, and `vanish`, which loses
the sandbox. A provider may be given replies for whole commands besides.
"""

from typing import Final

KIND: Final = "fake"
