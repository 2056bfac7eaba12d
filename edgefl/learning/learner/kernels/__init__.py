"""Kernels: gradients of a network for one client or many, and the products in them."""
