"""The choice of device and precision."""

import pytest
import torch

from one2set.errors import ConfigError
from one2set.model.device import choose_bfloat16, choose_device


def test_a_missing_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(ConfigError, match=r"the device is 'cuda', which this machine"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"


@pytest.mark.parametrize("avx512", [False, True])
@pytest.mark.parametrize("amx", [False, True])
def test_a_cpu_multiplies_in_bfloat16_where_it_has_instructions_for_it(
    avx512: bool, amx: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    cpu = torch.device("cpu")
    assert choose_bfloat16(cpu, "auto") == (avx512 or amx)
    assert choose_bfloat16(cpu, "bfloat16")
    assert not choose_bfloat16(cpu, "float32")
