"""How a system generates: plain values that are saved with its model, and the doing of it.

Shapes: B documents, R rows per document, W hypotheses per row, T steps.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from torch import Tensor

from one2set.errors import ConfigError
from one2set.model.network import Memory, Network
from one2set.search.beam import beam_sequence, beam_set
from one2set.search.exclusion import ALL, Exclusive, ExclusiveNested
from one2set.search.greedy import (
    Choose,
    NullBias,
    Rows,
    greedy_sequence,
    greedy_set,
    most_probable,
)

PHRASE_LENGTH, SEQUENCE_LENGTH = 6, 60  # tokens of a row, as the paper


@dataclass(frozen=True, slots=True)
class Search:
    """How the most probable words are looked for."""

    beam: int = 1  # hypotheses for each row; 1 is greedy
    length_penalty: float = 1.0  # hypotheses are ranked by log P / length^penalty
    pool: bool = False  # keep all hypotheses, also of codes that say ∅: candidates to choose from
    keep: int = 0  # of a pool, so many hypotheses of each row; 0 for all
    # A phrase of a sequence must not begin as one of so many before it; −1: as any; 0: no matter.
    exclusive: int = 0

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigError(f"beam is {self.beam}; expected 1 (greedy) or more")
        if not self.length_penalty >= 0:
            raise ConfigError(
                f"length penalty is {self.length_penalty}; expected 0 (none) or more, usually to 1"
            )
        if self.keep < 0:
            raise ConfigError(f"keep is {self.keep}; expected 0 (all) or more")
        if self.exclusive < ALL:
            raise ConfigError(
                f"exclusive is {self.exclusive}; expected a number of phrases, {ALL} for all that "
                "were written, or 0 for none"
            )
        if self.exclusive and (self.beam > 1 or self.pool):
            raise ConfigError(
                f"exclusive is {self.exclusive}, beam is {self.beam} and pool is {self.pool}; "
                "exclusive search is greedy: pass --exclusive 0, or --beam 1 without --pool"
            )


@dataclass(frozen=True, slots=True)
class Generation:
    """What a network's rows are, how long they may get and how they are searched for."""

    rows: Literal["phrase", "sequence", "nested"]  # one phrase or ∅; or several (`data.batch`)
    steps: int  # tokens that a row may have
    search: Search = Search()

    def __post_init__(self) -> None:
        if self.search.exclusive and self.rows == "phrase":
            raise ConfigError(
                f"exclusive is {self.search.exclusive}; this model writes a set, where no phrase "
                "comes before another: expected 0, or a model that writes sequences"
            )

    @property
    def choose(self) -> Choose:
        """How greedy search goes on with a row of several phrases."""
        window = self.search.exclusive
        if self.rows == "nested":
            return ExclusiveNested(window)
        return Exclusive(window) if window else most_probable

    @classmethod
    def of_model(cls, network: Network, config: dict[str, Any]) -> Self:
        """What a model's folder says. One that says nothing of it is of a Transformer, where only
        sets have several rows."""
        if (saved := config.get("generation")) is not None:
            try:
                return cls(**{**saved, "search": Search(**saved["search"])})
            except (TypeError, KeyError):
                raise ConfigError(
                    f"the model's generation is {saved!r}; expected {cls('phrase', 6).saved()} or "
                    "the like: mend its config.json, or use the version that wrote it"
                ) from None
        sizes = config.get("model", {})
        if network.rows > 1:
            return cls("phrase", sizes.get("phrase_length", PHRASE_LENGTH))
        return cls("sequence", sizes.get("sequence_length", SEQUENCE_LENGTH))

    def saved(self) -> dict[str, Any]:
        """Plain values, for the model's folder."""
        return asdict(self)


def generate(
    network: Network, memory: Memory, how: Generation, *, null_bias: NullBias = (0.0, 0.0)
) -> tuple[Tensor, ...]:
    """Length (B, R, W); tokens, their probabilities and places (B, R, W, T); null (B, R).

    The bias is for greedy search of sets: a sequence has no ∅, and a beam has pools instead.
    """
    search = how.search
    if search.beam == 1 and not search.pool:
        if how.rows == "phrase":
            return _single(greedy_set(network, memory, steps=how.steps, null_bias=null_bias))
        return _single(greedy_sequence(network, memory, steps=how.steps, choose=how.choose))
    beams = (beam_set if how.rows == "phrase" else beam_sequence)(
        network,
        memory,
        steps=how.steps,
        beam=search.beam,
        length_penalty=search.length_penalty,
        pool=search.pool,
    )
    if not search.pool:
        return _single(beams.best())
    kept = search.keep or search.beam
    return (*(x[:, :, :kept] for x in beams[:4]), beams.null)


def _single(rows: Rows) -> tuple[Tensor, ...]:
    """W = 1"""
    return (*(x.unsqueeze(2) for x in rows[:4]), rows.null)
