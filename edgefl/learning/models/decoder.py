"""The torch module of a language model's decoder, with the names of Llama's layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

EPS = 1e-5  # of the norms
INITIAL_STD = 0.02  # of all matrices, as Llama and GPT-2 have it


class Attention(nn.Module):
    """Causal attention with rotary positions; several heads of queries share one of keys and values."""

    def __init__(self, width: int, heads: int, kv_heads: int, rope_base: float) -> None:
        super().__init__()
        self.size = width // heads
        self.rope_base = rope_base
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(width, kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, T, width] of x [B, T, width]."""
        q = self._rotated(self._by_head(self.q_proj(x)))
        k = self._rotated(self._by_head(self.k_proj(x)))
        v = self._by_head(self.v_proj(x))
        shared_by = q.shape[1] // k.shape[1]
        k = k.repeat_interleave(shared_by, dim=1)
        v = v.repeat_interleave(shared_by, dim=1)
        length = x.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.transpose(2, 3) / self.size**0.5).masked_fill(later, float("-inf"))
        mixed = scores.softmax(-1) @ v  # [B, heads, T, size]
        joined: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return joined

    def _by_head(self, x: Tensor) -> Tensor:
        """Return [B, heads, T, size] of [B, T, heads x size]."""
        return x.reshape(*x.shape[:2], -1, self.size).transpose(1, 2)

    def _rotated(self, x: Tensor) -> Tensor:
        """Return x [B, heads, T, size] with each pair of halves rotated by its position's angle."""
        half = self.size // 2
        steps = torch.arange(half, device=x.device, dtype=torch.float32)
        places = torch.arange(x.shape[2], device=x.device, dtype=torch.float32)
        angle = places[:, None] * self.rope_base ** (-steps / half)
        cos = angle.cos().to(x.dtype)
        sin = angle.sin().to(x.dtype)
        first = x[..., :half]
        second = x[..., half:]
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class GatedNetwork(nn.Module):
    """The feed-forward part of a layer: `down(silu(gate x) up x)`."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, T, width] of x [B, T, width]."""
        out: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class DecoderLayer(nn.Module):
    """Attention, then a gated network, each added to its input."""

    def __init__(self, width: int, heads: int, kv_heads: int, hidden: int, rope_base: float) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(width, eps=EPS)
        self.self_attn = Attention(width, heads, kv_heads, rope_base)
        self.post_attention_layernorm = nn.RMSNorm(width, eps=EPS)
        self.mlp = GatedNetwork(width, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, T, width] of x [B, T, width]."""
        x = x + self.self_attn(self.input_layernorm(x))
        added: Tensor = self.mlp(self.post_attention_layernorm(x))
        return x + added


class Decoder(nn.Module):
    """Embeddings, layers and a last norm; the embeddings are the weights of the last layer, too."""

    def __init__(
        self, *, vocabulary: int, depth: int, width: int, heads: int, kv_heads: int, hidden: int, rope_base: float
    ) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList([DecoderLayer(width, heads, kv_heads, hidden, rope_base) for _ in range(depth)])
        self.norm = nn.RMSNorm(width, eps=EPS)
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=INITIAL_STD)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits [B, vocabulary, T] of the token that follows each of the ids [B, T]."""
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x)
        logits = functional.linear(self.norm(x), self.embed_tokens.weight)
        return logits.movedim(-1, 1)
