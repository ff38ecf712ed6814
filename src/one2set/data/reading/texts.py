"""The texts of documents as files, for those who need what spans refer to."""

import re
from pathlib import Path

from one2set.data.document import Document
from one2set.errors import ConfigError

_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_LONGEST = 100  # characters of a name


class TextOutput:
    """A folder with a file for each document, named by its id; or one file, if the name ends in
    .txt. Offsets count characters of these files, which are UTF-8 with their line ends as they
    are."""

    def __init__(self, name: str) -> None:
        self.path = Path(name)
        self._is_file = self.path.suffix == ".txt" and not self.path.is_dir()
        self._written: set[str] = set()

    def write(self, document: Document) -> None:
        """Write the text of a document."""
        if self._is_file and self._written:
            raise ConfigError(
                f"--text-output is {self.path}, one file, but there is more than one document; "
                "name a folder"
            )
        path = self.path if self._is_file else self.path / f"{self._choose_name(document.id)}.txt"
        self._written.add(path.stem)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(document.text.encode("utf-8", "replace"))
        except OSError as error:
            raise ConfigError(
                f"--text-output is {self.path}, which cannot be written ({error.strerror}); name "
                "another folder"
            ) from None

    def _choose_name(self, id: str) -> str:
        """A name that no other document has."""
        base = _NOT_IN_NAMES.sub("_", id).strip(".")[:_LONGEST] or "document"
        name, number = base, 1
        while name in self._written:
            number += 1
            name = f"{base}-{number}"
        return name
