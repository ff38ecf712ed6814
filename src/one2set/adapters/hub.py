"""Models in the Hugging Face layout: `from_pretrained`, `save_pretrained`, `push_to_hub`.

    HubKeyphraseGenerator.from_pretrained("someone/keyphrases").generate(text)

Our model folders have this layout already (config.json, safetensors); a model card is added.
"""

import shutil
from pathlib import Path
from typing import Any, Self

from one2set.errors import ConfigError, missing_extra
from one2set.extraction.knowledge import model_files
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.model.paths import DEFAULT, find_knowledge_folder, find_model_folder

try:
    from huggingface_hub import ModelHubMixin, snapshot_download
except ImportError:
    raise missing_extra("huggingface_hub", extra="hub", purpose="the Hugging Face hub") from None

_CARD = """---
{{ card_data }}
---

# Keyphrases as a set

This model finds the present and absent keyphrases of English texts. It is a SetTrans (One2Set, ACL
2021), trained with one2set{% if description %}.

{{ description }}{% endif %}

```python
from one2set.adapters.hub import HubKeyphraseGenerator

generator = HubKeyphraseGenerator.from_pretrained("this repository")
for keyphrase in generator.generate("Some text"):
    print(keyphrase.text, keyphrase.score, keyphrase.present)
```

The score is the calibrated probability that a phrase is a keyphrase of the text. The model was
trained on titles and abstracts of scientific papers; check it before you use it on other texts.
Absent keyphrases are less reliable than present ones.
"""


class HubKeyphraseGenerator(
    KeyphraseGenerator,
    ModelHubMixin,  # type: ignore[misc,unused-ignore]
    library_name="one2set",
    tags=["keyphrase-generation", "keyphrase-extraction"],
    language=["en"],
    paper_url="https://aclanthology.org/2021.acl-long.354",
    model_card_template=_CARD,
):
    """A `KeyphraseGenerator` that can be loaded from the hub and pushed to it."""

    # No parameter may have a name that occurs in our config.json: the mixin would take its value
    # from there.
    def __init__(
        self, folder: str | Path = DEFAULT, *, threads: int = 0, verify: bool = True
    ) -> None:
        super().__init__(folder, threads=threads, verify=verify)
        self._folder = find_model_folder(folder)
        # The mixin would save the arguments as config.json of a model that has none.
        self._hub_mixin_config = None

    def save_pretrained(self, save_directory: str | Path, **options: Any) -> str | None:
        """Save a copy of the model, with a model card, in another folder than its own. The options
        are those of `ModelHubMixin`."""
        own = {folder.resolve() for folder in (self._folder, find_knowledge_folder(self._folder))}
        if Path(save_directory).resolve() in own:  # of which the mixin deletes config.json first
            raise ConfigError(
                f"the folder to save to is {save_directory}, the own folder of the model; pass "
                "another one"
            )
        url: str | None = super().save_pretrained(save_directory, **options)
        return url

    def _save_pretrained(self, save_directory: Path) -> None:
        for path in model_files(self._folder):
            shutil.copyfile(path, save_directory / path.name)

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None = None,
        cache_dir: str | Path | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: str | bool | None = None,
        **options: Any,
    ) -> Self:
        # Absolute, as a folder may have the name of a bundled model.
        folder = str(Path(model_id).absolute())
        if not Path(folder).is_dir():
            folder = snapshot_download(
                model_id,
                revision=revision,
                cache_dir=cache_dir,
                force_download=force_download,
                local_files_only=local_files_only,
                token=token,
            )
        return cls(folder, **options)
