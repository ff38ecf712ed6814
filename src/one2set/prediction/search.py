"""Generation settings, which are saved with a model, and `generate`, which applies them.

Shapes: B documents, R rows per document, W hypotheses per row, T steps.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from torch import Tensor

from one2set.errors import ConfigError
from one2set.model.network import Memory, Network
from one2set.prediction.beam import beam_search
from one2set.prediction.exclusion import ALL, Exclusive, ExclusiveNested
from one2set.prediction.greedy import (
    PHRASE_STOP_IDS,
    SEQUENCE_STOP_IDS,
    Choose,
    DecodedRows,
    choose_most_probable,
    greedy_sequence,
    greedy_set,
)
from one2set.prediction.prediction import AS_TRAINED, NullBias

PHRASE_LENGTH, SEQUENCE_LENGTH = 6, 60  # tokens of a row, as the paper


@dataclass(frozen=True, slots=True)
class Search:
    """Search settings."""

    beam: int = 1  # width; 1 is greedy
    length_penalty: float = 1.0  # hypotheses are ranked by log P / length^penalty
    pool: bool = False  # return all hypotheses as candidates, even of codes whose first token is ∅
    keep: int = 0  # hypotheses of a pool to keep per row; 0 keeps all
    # Number of earlier phrases whose first words are forbidden; −1: all, 0: none.
    exclusive: int = 0

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigError(f"beam is {self.beam}; expected 1 (greedy) or more")
        if not self.length_penalty >= 0:
            raise ConfigError(
                f"length penalty is {self.length_penalty}; expected 0 (none) or more, "
                "usually at most 1"
            )
        if self.keep < 0:
            raise ConfigError(f"keep is {self.keep}; expected 0 (all) or more")
        if self.exclusive < ALL:
            raise ConfigError(
                f"exclusive is {self.exclusive}; expected a number of phrases, {ALL} for all "
                "earlier phrases, or 0 for none"
            )

    @property
    def greedy(self) -> bool:
        """Whether there is no beam to search with, and no pool to fill."""
        return self.beam == 1 and not self.pool


@dataclass(frozen=True, slots=True)
class Generation:
    """What the rows of a network are, their maximum length, and how to search."""

    rows: Literal["phrase", "sequence", "nested"]  # one phrase or ∅; or several (`data.batch`)
    steps: int  # maximum tokens of a row
    search: Search = Search()

    def __post_init__(self) -> None:
        search = self.search
        if self.rows == "nested" and not search.greedy:  # a beam ignores the grammar of its rows
            raise ConfigError(
                f"beam is {search.beam} and pool is {search.pool}; this model (ExHiRD) is searched "
                "greedily: pass --beam 1 without --pool"
            )
        if search.exclusive and not search.greedy:
            raise ConfigError(
                f"exclusive is {search.exclusive}, beam is {search.beam} and pool is "
                f"{search.pool}; exclusive search is greedy: pass --exclusive 0, or --beam 1 "
                "without --pool"
            )
        if search.exclusive and self.rows == "phrase":
            raise ConfigError(
                f"exclusive is {search.exclusive}; this model generates a set, whose phrases "
                "have no order: pass 0, or use a model that generates sequences"
            )

    @property
    def choose(self) -> Choose:
        """How greedy search chooses tokens in a row of several phrases."""
        window = self.search.exclusive
        if self.rows == "nested":
            return ExclusiveNested(window)
        return Exclusive(window) if window else choose_most_probable

    @classmethod
    def from_model(cls, network: Network, config: dict[str, Any]) -> Self:
        """The settings saved with a model. A model without them is a Transformer, which has several
        rows only if it generates sets."""
        if (saved := config.get("generation")) is not None:
            try:
                return cls(**{**saved, "search": Search(**saved["search"])})
            except (TypeError, KeyError):
                raise ConfigError(
                    f"the model's generation is {saved!r}; expected for example "
                    f"{asdict(cls('phrase', 6))}: correct its config.json, or use the version "
                    "that wrote it"
                ) from None
        sizes = config.get("model", {})
        if network.rows > 1:
            return cls("phrase", sizes.get("phrase_length", PHRASE_LENGTH))
        return cls("sequence", sizes.get("sequence_length", SEQUENCE_LENGTH))


def generate(
    network: Network, memory: Memory, how: Generation, *, null_bias: NullBias = AS_TRAINED
) -> tuple[Tensor, ...]:
    """Lengths (B, R, W); tokens, their probabilities and positions (B, R, W, T); null (B, R).

    The bias applies to greedy search of sets only: a sequence has no ∅, and beam search has
    `Search.pool` for that.
    """
    search = how.search
    if search.greedy:
        if how.rows == "phrase":
            return _unsqueeze_beam(
                greedy_set(network, memory, steps=how.steps, null_bias=null_bias)
            )
        return _unsqueeze_beam(greedy_sequence(network, memory, steps=how.steps, choose=how.choose))
    beams = beam_search(
        network,
        memory,
        stop_ids=PHRASE_STOP_IDS if how.rows == "phrase" else SEQUENCE_STOP_IDS,
        steps=how.steps,
        beam=search.beam,
        length_penalty=search.length_penalty,
        pool=search.pool,
    )
    if not search.pool:
        return _unsqueeze_beam(beams.best())
    kept = search.keep or search.beam
    return (*(x[:, :, :kept] for x in beams[:4]), beams.null)


def _unsqueeze_beam(rows: DecodedRows) -> tuple[Tensor, ...]:
    """W = 1"""
    return (*(x.unsqueeze(2) for x in rows[:4]), rows.null)
