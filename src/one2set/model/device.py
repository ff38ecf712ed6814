"""The device, its precision, and the number of CPU threads."""

import os

import torch

from one2set.cores import count_cores
from one2set.errors import ConfigError


def choose_device(name: str) -> torch.device:
    """The device of this process; `auto` is CUDA, then MPS, then the CPU."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    chosen = next(kind for kind in available if available[kind]) if name == "auto" else name
    if not available[chosen]:
        raise ConfigError(
            f"the device is {chosen!r}, which this machine (or build of torch) does not have; "
            "leave it at auto"
        )
    return torch.device(chosen, get_local_rank()) if chosen == "cuda" else torch.device(chosen)


def set_num_threads(count: int) -> None:
    """Set the number of CPU threads; 0 shares the cores among local processes, unless
    OMP_NUM_THREADS is set."""
    if count or "OMP_NUM_THREADS" not in os.environ:
        local_processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        torch.set_num_threads(count or max(1, count_cores() // local_processes))


def choose_bfloat16(device: torch.device, precision: str) -> bool:
    """Whether networks multiply in bfloat16; `auto` does where the device has instructions for it:
    AVX-512 BF16 or AMX on a CPU."""
    if precision != "auto":
        return precision == "bfloat16"
    match device.type:
        case "cuda":
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
        case "cpu":
            return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return False


def get_local_rank() -> int:
    """The rank of this process among those of this machine."""
    return int(os.environ.get("LOCAL_RANK", "0"))
