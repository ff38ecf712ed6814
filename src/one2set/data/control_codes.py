"""Control codes: which generate present phrases and which absent ones."""

from typing import Any, Literal

Side = Literal["present", "absent"]
SIDES: tuple[Side, Side] = ("present", "absent")


def codes_by_side(num_codes: int) -> dict[str, slice]:
    """The codes of each side: the first half is for present phrases, the second for absent ones."""
    half = num_codes // 2
    return {"present": slice(0, half), "absent": slice(half, num_codes)}


def is_present_code(code: Any, num_codes: int) -> Any:
    """Whether a code is for present phrases; elementwise for an array of codes."""
    return code < codes_by_side(num_codes)["present"].stop
