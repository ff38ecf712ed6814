"""`one2set serve`: keyphrases over HTTP, and a page for people."""

from typing import Annotated

import typer

from one2set.cli.console import err
from one2set.cli.predict import ThreadsOption
from one2set.errors import missing_extra


def serve(
    model: Annotated[
        str, typer.Option(metavar="FOLDER", help="A model's folder; default is the one inside.")
    ] = "default",
    host: Annotated[
        str,
        typer.Option(
            help="Where to listen. Only this machine can reach 127.0.0.1; 0.0.0.0 is all."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ONE2SET_TOKEN",
            help="What clients must show: Authorization: Bearer TOKEN. Others can see it among "
            "the processes: better set the variable.",
            show_default=False,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str],
        typer.Option(
            metavar="URL",
            help="A site whose pages may use the server from a browser (CORS). Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 1_000_000,
    max_characters: Annotated[int, typer.Option(min=1, help="Of a document.")] = 200_000,
    max_documents: Annotated[int, typer.Option(min=1, help="Of a request.")] = 64,
    queue: Annotated[
        int, typer.Option(min=1, help="Documents that wait. Above it clients are sent away.")
    ] = 256,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for a request.")] = 60.0,
    threads: ThreadsOption = 0,
) -> None:
    """Serve keyphrases over HTTP, with a page at / for people.

    POST /v1/keyphrases takes what `one2set generate` takes; /openapi.json describes it. Ctrl-C or
    SIGTERM end it when it has answered what it accepted.
    """
    try:
        from one2set.serving.app import create_app
        from one2set.serving.limits import Limits
        from one2set.serving.server import run
    except ImportError as error:
        raise missing_extra(
            str(error.name or "fastapi").split(".")[0], extra="serve", purpose="serving"
        ) from None
    from one2set.inference.generator import KeyphraseGenerator

    limits = Limits(max_body, max_characters, max_documents, queue, timeout)
    generator = KeyphraseGenerator(model, threads=threads)
    generator.generate("The first text takes longest.")
    app = create_app(generator, limits, token=token, origins=allow_origin)
    run(
        app,
        host=host,
        port=port,
        seconds=timeout,
        started=lambda url: err.print(f"serving at {url} (Ctrl-C to stop)", soft_wrap=True),
    )
