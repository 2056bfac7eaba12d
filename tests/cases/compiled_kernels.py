"""Compiles all kernels of a training step for an H100, on a machine without one; prints what each takes.

    python compiled_kernels.py PRECISION

Triton compiles for any card; only what it has compiled needs one. Nothing is computed.
"""

import json
import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction
from triton_cases import IMAGES, NETWORKS, Own, shape_of

from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.learner.kernels.triton_gradient import TritonGradient
from edgefl.learning.learner.networks.network import Network

H100 = GPUTarget("cuda", 90, 32)
POINTERS = {torch.float32: "*fp32", torch.bfloat16: "*bf16", torch.int8: "*i8"}
OPTIONS = {"num_warps", "num_stages", "enable_fp_fusion"}  # of a launch


def compile_launch(kernel, *args, grid, warmup=False, **named):
    """Compile a kernel for the arguments of a launch, as Triton does before the first one."""
    options = {name: named.pop(name) for name in OPTIONS & named.keys()}
    values = {**dict(zip(kernel.arg_names, args, strict=False)), **named}
    signature = {}
    known = {}
    multiples = {}
    for number, parameter in enumerate(kernel.params):
        value = values[parameter.name]
        kind = "constexpr"
        if isinstance(value, torch.Tensor):
            kind = POINTERS[value.dtype]
        elif isinstance(value, float) and not parameter.is_constexpr:
            kind = "fp32"
        elif not parameter.is_constexpr and value != 1:
            kind = "i32"
        signature[parameter.name] = kind
        if kind == "constexpr":
            known[(number,)] = value
        elif (value.data_ptr() if isinstance(value, torch.Tensor) else value) % 16 == 0:
            multiples[(number,)] = [["tt.divisibility", 16]]
    compiled = triton.compile(ASTSource(kernel, signature, known, multiples), target=H100, options=options)
    found = {"kernel": kernel.fn.__name__, "shared_bytes": compiled.metadata.shared}
    print(json.dumps(found))


def main(precision):
    JITFunction.run = compile_launch
    for name in ("plain", "many channels", "residual, group norm", "residual, batch norm"):
        network = Network(NETWORKS[name]())
        x = torch.zeros(2, IMAGES, *shape_of(name))
        y = torch.zeros(2, IMAGES, dtype=torch.int64)
        w = torch.zeros(2, len(network.parameters))
        statistics = network.initial_statistics.repeat(2, 1)
        kernel = TritonGradient(network, Own(network=name), FedAvg(), precision)
        step = kernel.bind(w, statistics, torch.zeros_like(w), None)
        step(x, y, torch.full((2, IMAGES), 1 / IMAGES), None)


if __name__ == "__main__":
    main(sys.argv[1])
