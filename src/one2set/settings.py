"""The settings of a run, section by section. Field docstrings are the help."""

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

Share = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Model(Section):
    """The network's size."""

    vocabulary_size: Annotated[int, Field(gt=len(SPECIALS))] = 50_002
    """Words that the network can read, specials included; at most those of the corpus."""
    output_size: NonNegativeInt = 0
    """Words, the most frequent ones, that it can also generate; it can only copy all others from
    the document. 0 for all that it can read."""
    width: PositiveInt = 512
    """Width of embeddings and hidden states (D), of Transformers."""
    heads: PositiveInt = 8
    """Attention heads; they divide the width."""
    feed_forward: PositiveInt = 2048
    """Inner width of the feed-forward layers."""
    encoder_layers: PositiveInt = 6
    """Layers of the encoder."""
    decoder_layers: PositiveInt = 6
    """Layers of the decoder."""
    dropout: Share = 0.1
    """Share of numbers that are dropped in training."""
    embedding_width: PositiveInt = 100
    """Width of embeddings (E), of recurrent networks, which have a width of their own for them."""
    hidden_width: Annotated[PositiveInt, Field(multiple_of=2)] = 300
    """Width of hidden states (D), of recurrent networks: half of it for either direction."""
    encoder: Literal["transformer", "bert"] = "transformer"
    """The encoder of Transformers: the paper's, or BERT's, whose trained weights can be had."""
    num_codes: Annotated[PositiveInt, Field(multiple_of=2)] = 20
    """Control codes of a set (N): half for present phrases, half for absent ones."""
    phrase_length: Annotated[int, Field(ge=2)] = 6
    """Words that a control code can say, `<eos>` included (L)."""
    sequence_length: Annotated[int, Field(ge=2)] = 60
    """Words that a one-to-sequence network can say, separators and `<eos>` included."""

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}, not a multiple of heads = {self.heads}")
        return self


class Loss(Section):
    """The set loss."""

    assign_steps: PositiveInt = 2
    """Words by which targets are assigned to control codes (K)."""
    null_weight_present: NonNegativeFloat = 0.2
    """Weight of ∅ among the present codes (λ_pre)."""
    null_weight_absent: NonNegativeFloat = 0.1
    """Weight of ∅ among the absent codes (λ_abs)."""
    shared_encoding: bool = False
    """Assign targets by what the encoder says with dropout, which the loss needs anyway, instead of
    reading every document a second time without: a fifth less work."""
    reassign: bool = False
    """Teach a code that was given ∅, but would say a target if it had to speak, that target too
    where the code that has it does not say it, and nothing otherwise (WR-One2Set)."""


class Heads(Section):
    """Two heads on the encoder, trained beside the set loss where one of their weights is not 0."""

    span_weight: NonNegativeFloat = 0.0
    """Weight of the span loss: is an n-gram of the source a keyphrase?"""
    phrase_weight: NonNegativeFloat = 0.0
    """Weight of the phrase loss: which known phrases are keyphrases of the document?"""
    span_width: PositiveInt = 128
    """Hidden width of the span scorer."""
    phrase_width: PositiveInt = 512
    """Hidden width of the phrase classifier."""
    num_phrases: PositiveInt = 20_000
    """Known phrases: at most so many, the most frequent keyphrases of the training documents."""

    @property
    def trained(self) -> bool:
        """Whether there are such heads."""
        return self.span_weight > 0 or self.phrase_weight > 0


class Reward(Section):
    """How systems are rewarded that write for it."""

    samples: PositiveInt = 1
    """Rows that are sampled for each document. More make a steadier gradient for little work, as a
    document is read once for all of them."""


class Adversarial(Section):
    """The rounds of GAN_MR, and its discriminator."""

    head_start: NonNegativeInt = 4000
    """Steps that the discriminator has to itself before the first round."""
    generator_steps: PositiveInt = 2000
    """Steps of the generator in each round."""
    discriminator_steps: PositiveInt = 500
    """Steps of the discriminator in each round, which then follow."""
    learning_rate: PositiveFloat = 1e-3
    """The discriminator's learning rate; the generator's is train.learning_rate, and both follow
    its schedule."""
    embedding: PositiveInt = 200
    """Width of the discriminator's word embeddings."""
    hidden: PositiveInt = 150
    """Width of its hidden states, in each direction."""
    dropout: Share = 0.5
    """Share of numbers that are dropped between its layers in training."""


class Beam(Section):
    """The search of systems that generate more phrases than they keep."""

    width: PositiveInt = 50
    """Phrases that are searched for."""
    keep: PositiveInt = 10
    """Phrases, the most probable of them, that are kept."""
    length_penalty: NonNegativeFloat = 0.0
    """They are ranked by log P / length^penalty; 0 is log P, the likelihood of a phrase."""


class Train(Section):
    """Batches, the optimiser and its learning rate."""

    batch_documents: NonNegativeInt = 12
    """Documents in a batch at most; 0 for no such limit."""
    batch_tokens: NonNegativeInt = 0
    """Source words in a batch at most, padding included; 0 for no such limit."""
    pool_batches: PositiveInt = 1
    """Documents of like length are batched together within pools of so many batches; 1 mixes all
    lengths."""
    shares: PositiveInt = 1
    """Shares in which a batch is computed, one after another or by several processes. More shares
    need less memory; the gradient is that of the whole batch."""
    learning_rate: PositiveFloat = 1e-4
    """The highest learning rate of Adam."""
    beta1: Share = 0.9
    """Adam's decay of the mean gradient."""
    beta2: Share = 0.998
    """Adam's decay of the mean squared gradient."""
    epsilon: PositiveFloat = 1e-9
    """Adam's ε."""
    clip_norm: PositiveFloat = 1.0
    """Longer gradients are scaled to this norm."""
    schedule: Literal["plateau", "constant", "linear", "cosine"] = "plateau"
    """plateau halves the learning rate when a validation is no better than the best one; linear and
    cosine let it fall to 0 where the limits end the run."""
    encoder_rate: PositiveFloat = 1.0
    """What the encoder's learning rate is multiplied by: a pretrained one needs little change."""
    frozen_layers: NonNegativeInt = 0
    """So many of the encoder's first layers, and the embeddings, stay as they are; 0 for none."""
    warmup_steps: NonNegativeInt = 0
    """Steps in which the learning rate rises to its height."""
    keyphrase_dropout: Share = 0.0
    """Share of present phrases that each step takes out of their documents, at random, so that they
    become absent ones (KPDrop); 0 for none."""
    average_decay: Share = 0.0
    """Decay of the moving average of the weights, which then is validated and saved as the model;
    0 for none."""

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if not self.batch_documents and not self.batch_tokens:
            raise ValueError("batch_documents and batch_tokens are both 0; set one of them")
        return self


class Validation(Section):
    """When and by what the best weights are chosen, and when to stop."""

    every: NonNegativeInt = 8000
    """Steps between validations; 0 validates at the end of each epoch."""
    first_epoch: PositiveInt = 2
    """The epoch in which validation begins, from 1."""
    documents: NonNegativeInt = 0
    """Documents of the validation split that are used, spread evenly; 0 for all."""
    select_by: Literal["loss", "f1"] = "loss"
    """The best weights have the lowest loss, or the highest F1@M over all phrases and, of equal
    ones, the lowest loss."""
    patience: NonNegativeInt = 4
    """Validations in a row without a better one that end the run; 0 never ends it so."""


class Limits(Section):
    """Where a run ends; the first limit that is reached counts."""

    epochs: NonNegativeInt = 20
    """Passes over the training split; 0 for no such limit."""
    steps: NonNegativeInt = 0
    """Optimiser steps; 0 for no such limit."""
    documents: NonNegativeInt = 0
    """Documents seen, each as often as it is seen; 0 for no such limit."""
    minutes: NonNegativeFloat = 0.0
    """Minutes of training; 0 for no such limit. The clock decides, so no two runs are alike."""

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if not (self.epochs or self.steps or self.documents or self.minutes):
            raise ValueError("epochs, steps, documents and minutes are all 0; set one of them")
        return self


class Record(Section):
    """What is written while training."""

    checkpoint_steps: NonNegativeInt = 0
    """Steps between checkpoints; 0 for none by steps."""
    checkpoint_minutes: NonNegativeFloat = 10.0
    """Minutes between checkpoints; 0 for none by the clock."""
    log_steps: PositiveInt = 50
    """Steps between lines of metrics.jsonl."""
    tensorboard: bool = True
    """Also write TensorBoard's files."""
    curves: bool = True
    """Draw the curves of loss and F1@M at every validation."""


class Machine(Section):
    """What is computed on."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """auto takes a GPU where there is one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """bfloat16 computes in mixed precision; auto does so on GPUs that are made for it."""
    compile: bool = False
    """Compile the objective with torch.compile: minutes of start, then faster steps on a GPU."""
    threads: NonNegativeInt = 0
    """Threads of each process; 0 divides the cores among the processes, or follows OMP_NUM_THREADS.
    """
