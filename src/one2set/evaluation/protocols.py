"""Protocols: named ways to aggregate the metrics of documents into those of a set."""

from dataclasses import dataclass, replace
from typing import Literal

from one2set.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Protocol:
    """Three choices that differ between papers. The defaults are those of Ye et al. (2021)."""

    name: str
    # harmonic: F1 of the mean P and the mean R. mean-f1: the mean of the documents' own F1.
    # micro: P, R and F1 of the counts summed over documents.
    average: Literal["harmonic", "mean-f1", "micro"] = "harmonic"
    # P@5 always divides by 5 (padded with wrong predictions), or by the number of predictions if
    # there are fewer.
    padded: bool = True
    # Documents without gold phrases in the group count as zeros, or are left out of its averages.
    skip_without_gold: bool = False

    @property
    def choices(self) -> list[str]:
        """The three choices in words."""
        averages = {
            "harmonic": "F1 of mean P and mean R",
            "mean-f1": "mean of the documents' F1",
            "micro": "P, R and F1 of summed counts",
        }
        return [
            averages[self.average],
            "P@k divides by k" if self.padded else "P@k divides by min(k, #predictions)",
            "only documents with gold" if self.skip_without_gold else "all documents",
        ]


YE2021 = Protocol("ye2021")
# Each differs from the authors' protocol by one choice.
PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        YE2021,
        Protocol("mean-f1", average="mean-f1"),
        Protocol("with-gold", skip_without_gold=True),
        Protocol("unpadded", padded=False),
        Protocol("micro", average="micro"),
    )
}


def get_protocol(name: str) -> Protocol:
    """Look up a protocol by its name; `with-gold+unpadded` combines two."""
    chosen = replace(YE2021, name=name)
    for part in name.split("+"):
        if part not in PROTOCOLS:
            allowed = ", ".join(PROTOCOLS)
            raise ConfigError(
                f"protocol is {part!r}; expected one of {allowed}, or several joined by +"
            )
        for choice in ("average", "padded", "skip_without_gold"):
            value, authors = getattr(PROTOCOLS[part], choice), getattr(YE2021, choice)
            if value == authors:
                continue
            if getattr(chosen, choice) not in (authors, value):
                raise ConfigError(
                    f"protocol {name!r} averages in two ways; choose mean-f1 or micro"
                )
            chosen = replace(chosen, **{choice: value})
    return chosen
