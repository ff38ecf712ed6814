"""`one2set import-checkpoint`, `export` and `calibrate`: where models come from, what becomes of
them, and what they are told afterwards."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err, out, progress_bar
from one2set.cli.corpus import FieldOption, OnErrorOption
from one2set.cli.predict import BatchTokensOption, DeviceOption, ModelArgument, ThreadsOption
from one2set.cli.tables import calibration_table
from one2set.errors import ConfigError, DataError, missing_extra

_ENOUGH = 80  # documents: so many of Inspec made the model much better on others


def import_checkpoint(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="BEST_MODEL.PT", help="A checkpoint of the authors' release.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The model's folder to write.")],
    vocab: Annotated[
        Path, typer.Option(metavar="VOCAB.PT", help="The vocabulary that it was trained with.")
    ],
    heads: Annotated[
        int,
        typer.Option(
            help="Attention heads of the network, 8 in the paper. They cannot be read off its "
            "weights, and a wrong number gives wrong keyphrases."
        ),
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing OUT.")
    ] = False,
) -> None:
    """Turn a checkpoint of the authors' release (kg_one2set) into a model for one2set predict.

    One2Set and One2Seq, of any size. Its files are pickles, of which nothing is ever executed.
    """
    try:
        from one2set.model.import_release import import_checkpoint as import_files
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="importing a checkpoint") from None
    from one2set.model.folder import save_model
    from one2set.search.search import Generation

    if output.exists() and not overwrite:
        raise ConfigError(f"{output} exists already; pass --overwrite, or name another folder")
    network, vocabulary = import_files(checkpoint, vocab, heads=heads)
    is_set = network.rows > 1
    generation = Generation.of_model(network, {})
    config = {"imported": str(checkpoint), "generation": generation.saved()}
    save_model(output, network, vocabulary, config, overwrite=overwrite)
    weights = sum(weight.numel() for weight in network.parameters())
    err.print(
        f"{output}: {'One2Set' if is_set else 'One2Seq'}, {weights:,} weights, "
        f"{vocabulary.size:,} words" + (f", {network.rows} control codes" if is_set else ""),
        soft_wrap=True,
    )
    err.print(f"next: one2set predict {output} INPUT -o predictions.jsonl", soft_wrap=True)


def export(
    model: ModelArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The folder to write.")
    ],
    float32: Annotated[
        bool,
        typer.Option(
            "--float32",
            help="Keep the weights as they are. Otherwise they become whole numbers of 8 bits: a "
            "quarter of the size, about twice as fast, and nearly the same keyphrases.",
        ),
    ] = False,
    phrases: Annotated[
        list[str],
        typer.Option(
            metavar="INPUT",
            help="Training documents, in any readable format. They teach which phrases of a text "
            "are likely keyphrases even if the network does not say them. Repeatable.",
        ),
    ] = [],  # noqa: B006
    knowledge_of: Annotated[
        str | None,
        typer.Option(
            "--knowledge",
            metavar="MODEL",
            help="Keep what this model knows beside its network, default or a folder: what its "
            "documents taught, to which those of --phrases are added, and its calibration. For a "
            "model that was trained further.",
            show_default=False,
        ),
    ] = None,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing OUT.")
    ] = False,
) -> None:
    """Turn a trained SetTrans into a model for one2set generate, which runs without torch.

    Then compares both on the bundled sample. OUT stays a model for predict, train and calibrate.
    """
    try:
        from one2set.export.export import agreement, export_model
        from one2set.extraction.train_scorers import extend_knowledge
        from one2set.keyphrases.learn import export_with_knowledge, teach_to_see
        from one2set.prediction.engine import Engine
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Exporting a model") from None
    from one2set.data.document import Document
    from one2set.data.reading.readers import read
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import Intake
    from one2set.export.runtime import Runtime
    from one2set.extraction.knowledge import NOTHING, Knowledge
    from one2set.model.paths import is_model, named_model

    folder = named_model(str(model))
    with Intake(on_error) as intake:
        fields = Fields.mapped(field)

        def documents() -> Iterator[Document]:
            for path in phrases:
                yield from read(path, fields=fields, intake=intake)

        knowledge, origin = NOTHING, None
        if knowledge_of is not None:
            if not is_model(knowledge_of):
                raise ConfigError(f"--knowledge is {knowledge_of}; expected a model's folder")
            origin = named_model(knowledge_of)
            knowledge = Knowledge.load(origin).of_any_network()
        all_new = knowledge.selector is None
        if phrases:
            knowledge = extend_knowledge(knowledge, documents)
        if knowledge is NOTHING:
            export_model(folder, output, int8=not float32, overwrite=overwrite)
        else:
            export_with_knowledge(
                folder,
                output,
                knowledge,
                int8=not float32,
                origin=origin,
                overwrite=overwrite,
            )
        if all_new and knowledge.selector is not None:
            teach_to_see(output, knowledge.selector, documents())
    size = sum(path.stat().st_size for path in output.iterdir())
    err.print(f"{output}: {size / 1e6:.1f} MB", soft_wrap=True)
    same, said = agreement(Engine.load(folder, device="cpu"), Runtime(output))
    out.print(f"of {said:,} phrases for the bundled sample {same:,} are the trained network's own")
    err.print(f'next: one2set generate --model {output} "Some text"', soft_wrap=True)


def calibrate(
    model: ModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Documents with keyphrases that training has not seen, in any readable format.",
        ),
    ],
    diagram: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw how often phrases are right, by their score."),
    ] = None,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    batch_tokens: BatchTokensOption = 4096,
    threads: ThreadsOption = 0,
    device: DeviceOption = "auto",
) -> None:
    """Find out where a model should speak, and how likely what it says is right.

    Lets every code speak on documents whose keyphrases are known. What it finds is stored in the
    model's folder: the biases on ∅ and the least scores at which the mean of F1@5 and F1@M is
    highest, and how a phrase's score is computed. The figures printed are of documents left out: it
    tunes on either half, and measures on the other.
    """
    try:
        from one2set.bulk.lines import predict_all
        from one2set.extraction.knowledge import Knowledge
        from one2set.keyphrases import reliability, tuning
        from one2set.keyphrases.loading import load_predictor
        from one2set.model.paths import DEFAULT, named_model
        from one2set.prediction.prediction import EVERYTHING
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Calibrating a model") from None
    from one2set.data.reading.readers import read
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import Intake

    if str(model) == DEFAULT:
        raise ConfigError(
            "the model inside the package stays as it is; calibrate a copy: one2set export default "
            "--output my-model"
        )
    folder = named_model(model)
    engine = load_predictor(folder, device=device, batch_tokens=batch_tokens, threads=threads)
    knowledge = Knowledge.load(folder)
    judged = []
    with Intake(on_error) as intake, progress_bar("Predicting", total=None) as update:
        documents = chain.from_iterable(
            read(path, fields=Fields.mapped(field), intake=intake) for path in inputs
        )
        pairs = predict_all(engine, documents, null_bias=EVERYTHING, project=knowledge.project)
        for number, (document, prediction) in enumerate(pairs, 1):
            if document.keyphrases is None:
                raise DataError(
                    f"document {document.id!r} has no keyphrases",
                    fix="pass documents whose keyphrases are known",
                )
            judged.append(tuning.judge(document, prediction, knowledge))
            update(number, f"{number:,} documents")
    if sum(bool(one.candidates) for one in judged) < 2:
        raise DataError("the model says phrases for fewer than 2 documents", fix="pass more")
    if len(judged) < _ENOUGH:
        err.print(
            f"mind: {len(judged)} documents are few, and the model may become worse; {_ENOUGH} or "
            "more are enough",
            soft_wrap=True,
        )
    check = reliability.cross_check(judged)
    calibration = tuning.tune(judged)
    calibration.save(folder)
    out.print(calibration_table(calibration, check))
    if diagram is not None:
        reliability.draw(check, diagram)
        err.print(f"{diagram}: drawn", soft_wrap=True)
    err.print(f"{folder}: calibrated on {len(judged):,} documents", soft_wrap=True)
