"""`one2set export`: a trained model as ONNX, which runs without PyTorch."""

from typing import Annotated

import typer

from one2set.cli.console import err, out
from one2set.cli.options import (
    ModelArgument,
    NoVerifyOption,
    OutputFolderOption,
    OverwriteOption,
)
from one2set.cli.progress import waiting
from one2set.errors import missing_extra


def export(
    model: ModelArgument,
    output: OutputFolderOption,
    float32: Annotated[
        bool,
        typer.Option(
            "--float32",
            help="Keep float32 weights. The default, int8, is four times smaller and about twice "
            "as fast, with nearly the same keyphrases.",
        ),
    ] = False,
    overwrite: OverwriteOption = False,
    no_verify: NoVerifyOption = False,
) -> None:
    """Export a trained SetTrans to ONNX, so that it runs without PyTorch.

    one2set export my-run --output my-model

    All other files of the model are copied. The result is compared with the
    original on the bundled sample.
    """
    try:
        from one2set.export.export import count_shared_phrases, export_model
        from one2set.prediction.engine import Engine
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Exporting a model") from None
    from one2set.model.paths import find_model_folder, is_exported
    from one2set.prediction.predictor import Predictor
    from one2set.prediction.runtime import Runtime

    folder = find_model_folder(model)
    with waiting(lambda: f"exporting {folder}"):
        export_model(folder, output, int8=not float32, overwrite=overwrite, verify=not no_verify)
    size = sum(path.stat().st_size for path in output.iterdir())
    err.print(f"{output}: {size / 1e6:.1f} MB", soft_wrap=True)
    # A model that was exported before may be the same: then nothing differs.
    original: Predictor = (
        Runtime(folder) if is_exported(folder) else Engine.load(folder, device="cpu", verify=False)
    )
    with waiting(lambda: "comparing"):
        same, total = count_shared_phrases(original, Runtime(output))
    out.print(f"on the bundled sample, {same:,} of {total:,} phrases equal those of the original")
    err.print(f'next: one2set generate --model {output} "Some text"', soft_wrap=True)
