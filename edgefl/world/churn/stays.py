"""How long a device stays: the laws that `churn.stay_s` can name."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, SerializeAsAny

from edgefl.core.arrays import Floats
from edgefl.core.section import Section, fault, shown

Seconds = Annotated[float, Field(ge=1e-3, le=1e12)]
LogMean = Annotated[float, Field(ge=-6, le=27)]
Sigma = Annotated[float, Field(ge=0, le=5)]
Shape = Annotated[float, Field(ge=0.1, le=100)]


class Stay(Section):
    """A law of durations."""

    @property
    def mean_s(self) -> float:
        """The mean."""
        raise NotImplementedError

    def quantile_s(self, u: Floats) -> Floats:
        """Durations from uniforms [n]."""
        raise NotImplementedError

    def biased_s(self, u: Floats) -> Floats:
        """Durations that are met at a random time, from uniforms [n]: density x f(x) / mean."""
        raise NotImplementedError

    def residual_s(self, u: Floats) -> Floats:
        """What is left of them then, from uniforms [n, 2]: density (1 - F(x)) / mean (Cox, Renewal Theory, 1962)."""
        return u[:, 0] * self.biased_s(u[:, 1])


class Exponential(Stay):
    """{exponential: mean}."""

    exponential: Seconds

    @property
    def mean_s(self) -> float:
        """The mean."""
        return self.exponential

    def quantile_s(self, u: Floats) -> Floats:
        """The inverse of the distribution function."""
        return -self.exponential * np.log(u)

    def residual_s(self, u: Floats) -> Floats:
        """The whole's law again."""
        return self.quantile_s(u[:, 0])


class LogNormal(Stay):
    """{lognormal: [mean, sigma]}, both of the logarithm."""

    lognormal: Annotated[tuple[LogMean, Sigma], Field(strict=False)]

    @property
    def mean_s(self) -> float:
        """The mean."""
        mean, sigma = self.lognormal
        return float(np.exp(mean + sigma**2 / 2))

    def quantile_s(self, u: Floats) -> Floats:
        """The inverse of the distribution function."""
        from scipy.special import ndtri

        mean, sigma = self.lognormal
        return np.asarray(np.exp(mean + sigma * ndtri(u)))

    def biased_s(self, u: Floats) -> Floats:
        """The same, weighted by its length."""
        return self.quantile_s(u) * float(np.exp(self.lognormal[1] ** 2))  # again log-normal, with mean + sigma^2


class Weibull(Stay):
    """{weibull: [scale, shape]}."""

    weibull: Annotated[tuple[Seconds, Shape], Field(strict=False)]

    @property
    def mean_s(self) -> float:
        """The mean."""
        from scipy.special import gamma

        scale, shape = self.weibull
        return float(scale * gamma(1 + 1 / shape))

    def quantile_s(self, u: Floats) -> Floats:
        """The inverse of the distribution function."""
        scale, shape = self.weibull
        return np.asarray(scale * (-np.log(u)) ** (1 / shape))

    def biased_s(self, u: Floats) -> Floats:
        """The same, weighted by its length."""
        from scipy.special import gammaincinv

        scale, shape = self.weibull
        return np.asarray(scale * gammaincinv(1 + 1 / shape, u) ** (1 / shape))


LAWS: dict[str, type[Stay]] = {"exponential": Exponential, "lognormal": LogNormal, "weibull": Weibull}


def _parse(value: Any) -> Any:
    """A law from `{name: parameters}`."""
    if isinstance(value, Stay):
        return value
    name = next(iter(value), None) if isinstance(value, dict) else None
    if name not in LAWS:
        forms = "{exponential: mean}, {lognormal: [mean, sigma]} or {weibull: [scale, shape]}"
        raise fault(f"must be {forms}, got {shown(value)}")
    return LAWS[name].model_validate(value)


AnyStay = Exponential | LogNormal | Weibull
StaySeconds = Annotated[SerializeAsAny[Stay], BeforeValidator(_parse, json_schema_input_type=AnyStay)]
"""The pydantic type of a key that holds a law."""
