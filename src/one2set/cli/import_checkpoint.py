"""`one2set import-checkpoint`: a model from a checkpoint of the authors' release."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err
from one2set.errors import ConfigError, missing_extra


def import_checkpoint(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="A checkpoint of the authors' release.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The model folder to write.")],
    vocab: Annotated[
        Path, typer.Option(metavar="FILE", help="The vocabulary that it was trained with.")
    ],
    heads: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of attention heads; 8 in the paper. The checkpoint does not store it, and "
            "a wrong number gives wrong keyphrases.",
        ),
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing OUT.")
    ] = False,
) -> None:
    """Convert a checkpoint of the authors' release (kg_one2set).

    one2set import-checkpoint best_model.pt my-model --vocab vocab.pt --heads 8

    Reads One2Set and One2Seq models of any size. The files are pickles, but no
    code in them is executed.
    """
    try:
        from one2set.model.import_release import import_checkpoint as import_files
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="importing a checkpoint") from None
    from one2set.model.folder import save_model
    from one2set.prediction.search import Generation

    if output.exists() and not overwrite:
        raise ConfigError(f"{output} exists already; pass --overwrite, or name another folder")
    network, vocabulary = import_files(checkpoint, vocab, heads=heads)
    is_set = network.rows > 1
    generation = Generation.from_model(network, {})
    config = {
        "system": "settrans" if is_set else "transformer",
        "imported": str(checkpoint),
        "generation": asdict(generation),
    }
    save_model(output, network, vocabulary, config, overwrite=overwrite)
    weights = sum(weight.numel() for weight in network.parameters())
    err.print(
        f"{output}: {'One2Set' if is_set else 'One2Seq'}, {weights:,} weights, "
        f"{vocabulary.size:,} words" + (f", {network.rows} control codes" if is_set else ""),
        soft_wrap=True,
    )
    err.print(f"next: one2set predict {output} INPUT -o predictions.jsonl", soft_wrap=True)
