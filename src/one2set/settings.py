"""The settings of a run, section by section. The field docstrings are the help texts."""

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from one2set.data.specials import SPECIALS

Fraction = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ModelSettings(Section):
    """The size of the network."""

    vocabulary_size: Annotated[int, Field(gt=len(SPECIALS))] = 50_002
    """Input vocabulary size, special tokens included; at most that of the corpus."""
    output_size: NonNegativeInt = 0
    """Output vocabulary size: the most frequent words, which the network can generate. Other words
    can only be copied from the document. 0 for the whole input vocabulary."""
    width: PositiveInt = 512
    """Width of embeddings and hidden states (D) in Transformers."""
    heads: PositiveInt = 8
    """Number of attention heads. It must divide the width."""
    feed_forward: PositiveInt = 2048
    """Inner width of the feed-forward layers."""
    encoder_layers: PositiveInt = 6
    """Number of encoder layers."""
    decoder_layers: PositiveInt = 6
    """Number of decoder layers."""
    dropout: Fraction = 0.1
    """Dropout rate."""
    embedding_width: PositiveInt = 100
    """Width of the word embeddings (E) in recurrent networks."""
    hidden_width: Annotated[PositiveInt, Field(multiple_of=2)] = 300
    """Width of the hidden states (D) in recurrent networks, half of it for each direction."""
    encoder: Literal["transformer", "bert"] = "transformer"
    """Encoder of Transformers: the paper's, or BERT's, for which there are pretrained weights."""
    num_codes: Annotated[PositiveInt, Field(multiple_of=2)] = 20
    """Number of control codes (N): half for present phrases, half for absent ones."""
    phrase_length: Annotated[int, Field(ge=2)] = 6
    """Maximum number of words that a control code generates, `<eos>` included (L)."""
    sequence_length: Annotated[int, Field(ge=2)] = 60
    """Maximum number of words that a One2Seq network generates, separators and `<eos>` included."""

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}, not a multiple of heads = {self.heads}")
        return self


class LossSettings(Section):
    """The set loss."""

    assign_steps: PositiveInt = 2
    """Number of words that the K-step target assignment compares (K)."""
    null_weight_present: NonNegativeFloat = 0.2
    """Loss weight of ∅ for the present codes (λ_pre)."""
    null_weight_absent: NonNegativeFloat = 0.1
    """Loss weight of ∅ for the absent codes (λ_abs)."""
    shared_encoding: bool = False
    """Assign targets with the encoding (with dropout) that the loss uses, instead of encoding each
    document a second time without dropout. Saves a fifth of the computation."""


class HeadSettings(Section):
    """Two extra heads on the encoder, trained with the set loss if either weight is not 0."""

    span_weight: NonNegativeFloat = 0.0
    """Weight of the span loss: is an n-gram of the document a keyphrase?"""
    phrase_weight: NonNegativeFloat = 0.0
    """Weight of the phrase loss: which phrases of a list are keyphrases of the document?"""
    span_width: PositiveInt = 128
    """Hidden width of the span scorer."""
    phrase_width: PositiveInt = 512
    """Hidden width of the phrase classifier."""
    num_phrases: PositiveInt = 20_000
    """Maximum length of the phrase list: the most frequent keyphrases of the training documents."""

    @property
    def trained(self) -> bool:
        """Whether the heads exist."""
        return self.span_weight > 0 or self.phrase_weight > 0


class RewardSettings(Section):
    """Policy gradients."""

    samples: PositiveInt = 1
    """Number of samples per document. More samples reduce the variance of the gradient at little
    cost, because a document is encoded once for all of them."""


class AdversarialSettings(Section):
    """The rounds of GAN_MR, and its discriminator."""

    head_start: NonNegativeInt = 4000
    """Number of discriminator steps before the first round."""
    generator_steps: PositiveInt = 2000
    """Number of generator steps in each round."""
    discriminator_steps: PositiveInt = 500
    """Number of discriminator steps in each round, after those of the generator."""
    learning_rate: PositiveFloat = 1e-3
    """Learning rate of the discriminator. That of the generator is train.learning_rate; both follow
    the same schedule."""
    embedding: PositiveInt = 200
    """Width of the discriminator's word embeddings."""
    hidden: PositiveInt = 150
    """Width of the discriminator's hidden states in each direction."""
    dropout: Fraction = 0.5
    """Dropout rate between the discriminator's layers."""


class BeamSettings(Section):
    """Beam search, for systems that generate more phrases than they keep."""

    width: PositiveInt = 50
    """Beam size."""
    keep: PositiveInt = 10
    """Number of phrases to keep, the most probable ones."""
    length_penalty: NonNegativeFloat = 0.0
    """Phrases are ranked by log P / length^penalty; 0 ranks by log P."""


class TrainSettings(Section):
    """Batches, the optimizer and its learning rate."""

    batch_documents: NonNegativeInt = 12
    """Maximum number of documents per batch; 0 for no limit."""
    batch_tokens: NonNegativeInt = 0
    """Maximum number of source words per batch, padding included; 0 for no limit."""
    pool_batches: PositiveInt = 1
    """Number of batches per pool. Documents are sorted by length within each pool, to reduce
    padding; 1 does not sort."""
    micro_batches: PositiveInt = 1
    """Number of micro-batches per batch (gradient accumulation), computed in turn or by several
    processes. More need less memory; the gradient remains that of the whole batch."""
    learning_rate: PositiveFloat = 1e-4
    """Maximum learning rate of Adam."""
    beta1: Fraction = 0.9
    """Adam's β₁."""
    beta2: Fraction = 0.998
    """Adam's β₂."""
    epsilon: PositiveFloat = 1e-9
    """Adam's ε."""
    clip_norm: PositiveFloat = 1.0
    """Maximum norm of the gradient; larger gradients are clipped to it."""
    schedule: Literal["plateau", "constant", "linear", "cosine"] = "plateau"
    """Learning rate schedule. plateau halves the rate after each validation without improvement;
    linear and cosine decrease it to 0 at the end of the run."""
    encoder_lr_factor: PositiveFloat = 1.0
    """Factor of the encoder's learning rate. Use less than 1 for a pretrained encoder."""
    frozen_layers: NonNegativeInt = 0
    """Number of encoder layers to freeze, from the first, together with the embeddings; 0 for none.
    """
    warmup_steps: NonNegativeInt = 0
    """Number of steps in which the learning rate rises linearly to its maximum."""
    average_decay: Fraction = 0.0
    """Decay of the moving average of the weights, which is validated and saved as the model; 0 for
    no averaging."""

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if not self.batch_documents and not self.batch_tokens:
            raise ValueError("batch_documents and batch_tokens are both 0; set one of them")
        return self


class ValidationSettings(Section):
    """When to validate, how to select the best weights, and when to stop early."""

    every: NonNegativeInt = 8000
    """Number of steps between validations; 0 validates after each epoch."""
    first_epoch: PositiveInt = 2
    """First epoch with validations, counted from 1."""
    documents: NonNegativeInt = 0
    """Number of validation documents to use, evenly spaced; 0 for all."""
    select_by: Literal["loss", "f1"] = "loss"
    """Select the weights with the lowest loss, or with the highest F1@M over all phrases (ties: the
    lowest loss)."""
    patience: NonNegativeInt = 4
    """Stop after this many consecutive validations without improvement; 0 never stops early."""


class LimitSettings(Section):
    """When a run ends: at the first of these limits that it reaches."""

    epochs: NonNegativeInt = 20
    """Maximum number of epochs; 0 for no limit."""
    steps: NonNegativeInt = 0
    """Maximum number of optimizer steps; 0 for no limit."""
    documents: NonNegativeInt = 0
    """Maximum number of examples seen, over all epochs; 0 for no limit."""
    minutes: NonNegativeFloat = 0.0
    """Maximum training time in minutes; 0 for no limit. Runs with this limit are not reproducible.
    """

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if not (self.epochs or self.steps or self.documents or self.minutes):
            raise ValueError("epochs, steps, documents and minutes are all 0; set one of them")
        return self


class LoggingSettings(Section):
    """What is written during training."""

    checkpoint_steps: NonNegativeInt = 0
    """Number of steps between checkpoints; 0 for no checkpoints by steps."""
    checkpoint_minutes: NonNegativeFloat = 10.0
    """Minutes between checkpoints; 0 for no checkpoints by time."""
    log_steps: PositiveInt = 50
    """Number of steps between lines of metrics.jsonl."""
    tensorboard: bool = True
    """Write TensorBoard files."""
    curves: bool = True
    """Plot the curves of loss and F1@M after each validation."""


class MachineSettings(Section):
    """The hardware."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Device; auto uses a GPU if there is one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """bfloat16 multiplies in bfloat16, and keeps weights, norms and losses in float32; auto does so
    on GPUs and CPUs (AVX-512 BF16, AMX) that have instructions for it."""
    compile: bool = False
    """Compile the objective with torch.compile: takes minutes at the start, then steps are faster
    on a GPU."""
    threads: NonNegativeInt = 0
    """Number of threads per process; 0 divides the cores among the processes, or follows
    OMP_NUM_THREADS."""
