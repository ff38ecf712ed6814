"""Rich's console, without control sequences and markup of others. `console` imports it late."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from one2set.cli.console import show_controls


class SafeConsole(Console):
    """A console that passes on no control sequences but its own, and knows no markup."""

    def __init__(
        self, *, stderr: bool = False, width: int | None = None, terminal: bool | None = None
    ) -> None:
        super().__init__(
            stderr=stderr,
            width=width,
            force_terminal=terminal,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        """Everything that is printed passes through here, also in tables and progress bars."""
        for segment in super().render(*args, **kwargs):
            shown = segment.text if segment.control else show_controls(segment.text)
            yield segment._replace(text=shown)
