"""Make the transcripts in the documents anew: `make transcripts [ONLY=docs/realtime.md]`.

Each command is run again on a machine of the lab, in order, and what it prints takes the place of what
it printed before.  Read the difference before you commit it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lab import progress
from lab.paths import SRC
from lab.transcripts import scenes
from lab.transcripts.blocks import TranscriptError, find, put, remade


def documents() -> list[Path]:
    """Return the documents that may have transcripts."""
    return [SRC / "README.md", *sorted((SRC / "docs").glob("*.md"))]


def renew(document: Path, sources: scenes.Sources) -> int:
    """Make a document's transcripts anew; returns how many it has.  The file stays as it is if one fails."""
    text = document.read_text()
    made = []
    for block in find(text):
        with progress.step(f"{document.name}, line {block.first}: {block.source}"):
            made.append((block, remade(block, sources.again(block))))
    document.write_text(put(text, made))
    return len(made)


def main() -> int:
    """Make them; 1 if one cannot be made."""
    parser = argparse.ArgumentParser(
        prog="make transcripts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("documents", nargs="*", type=Path, help="only these")
    args = parser.parse_args()
    for document in args.documents or documents():
        # machines of its own: what one document did is not in the next one's way
        with scenes.sources() as sources:
            try:
                count = renew(document, sources)
            except TranscriptError as error:
                print(f"{document}: {error}", file=sys.stderr)
                return 1
        print(f"{document}: {count} transcripts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
