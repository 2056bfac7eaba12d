"""Kernels of our own for networks of convolutions on GPUs, in Triton, which comes with PyTorch on Linux."""
