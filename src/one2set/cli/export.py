"""`one2set export`: a trained model as ONNX, which runs without torch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err, out
from one2set.cli.options import FieldOption, ModelArgument, OnErrorOption
from one2set.errors import ConfigError, missing_extra


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
        from one2set.export.export import count_shared_phrases, export_model
        from one2set.extraction.train_scorers import extend_knowledge
        from one2set.keyphrases.learn import export_with_knowledge, teach_to_see
        from one2set.prediction.engine import Engine
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Exporting a model") from None
    from one2set.data.document import Document
    from one2set.data.reading.readers import read
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy
    from one2set.export.runtime import Runtime
    from one2set.extraction.knowledge import NOTHING, Knowledge
    from one2set.model.paths import find_model_folder, is_model

    folder = find_model_folder(str(model))
    with ErrorPolicy(on_error) as errors:
        fields = Fields.from_options(field)

        def documents() -> Iterator[Document]:
            for path in phrases:
                yield from read(path, fields=fields, errors=errors)

        knowledge, origin = NOTHING, None
        if knowledge_of is not None:
            if not is_model(knowledge_of):
                raise ConfigError(f"--knowledge is {knowledge_of}; expected a model's folder")
            origin = find_model_folder(knowledge_of)
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
    same, said = count_shared_phrases(Engine.load(folder, device="cpu"), Runtime(output))
    out.print(f"of {said:,} phrases for the bundled sample {same:,} are the trained network's own")
    err.print(f'next: one2set generate --model {output} "Some text"', soft_wrap=True)
