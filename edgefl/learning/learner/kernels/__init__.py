"""Kernels: gradients of a network for one client or many, and the products that they consist of.

`gradients.py` says what a kernel is.
"""
