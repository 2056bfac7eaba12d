"""Laws of how long a device stays, which `churn.stay_s` can name."""

from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, SerializeAsAny

from edgefl.core.arrays import Floats
from edgefl.core.section import Section, fault, shown

StayScale = Annotated[float, Field(ge=1e-3, le=1e12)]  # seconds
LogMean = Annotated[float, Field(ge=-6, le=27)]  # of the logarithm of seconds: from 2.5 ms to 17,000 years
Sigma = Annotated[float, Field(ge=0, le=5)]
Shape = Annotated[float, Field(ge=0.1, le=100)]


class Stay(Section):
    """Base class of the laws of stays.

    A stay met at a random time is longer than one drawn at random, as there are more times to meet it at (length bias).
    The rest of it is a uniform part of it.
    """

    @property
    def mean_s(self) -> float:
        """Return the mean stay [s]."""
        raise NotImplementedError

    def quantile_s(self, u: Floats) -> Floats:
        """Return stays [n] in seconds from uniform numbers [n], by the inverse of the distribution function."""
        raise NotImplementedError

    def length_biased_s(self, u: Floats) -> Floats:
        """Return stays [n] that are under way at a random time, from uniform numbers [n]: density ``x f(x) / mean``."""
        raise NotImplementedError

    def residual_s(self, u: Floats) -> Floats:
        """Return the rest of stays at a random time, from uniform numbers [n, 2].

        Its density is ``(1 - F(x)) / mean`` (Cox, Renewal Theory, 1962).
        """
        return u[:, 0] * self.length_biased_s(u[:, 1])  # how much of it is over is uniform


class ExponentialStay(Stay):
    """{exponential: mean}."""

    exponential: StayScale  # mean

    @property
    def mean_s(self) -> float:
        """Return the mean stay [s]."""
        return self.exponential

    def quantile_s(self, u: Floats) -> Floats:
        """Return stays [n] in seconds from uniform numbers [n]."""
        return -self.exponential * np.log(u)

    def residual_s(self, u: Floats) -> Floats:
        """Return the rest of stays: as long as a whole one, as the law has no memory."""
        return self.quantile_s(u[:, 0])


class LogNormalStay(Stay):
    """{lognormal: [mean, sigma]}, both of the logarithm."""

    lognormal: Annotated[tuple[LogMean, Sigma], Field(strict=False)]  # mean and standard deviation

    @property
    def mean_s(self) -> float:
        """Return the mean stay [s]."""
        mean, sigma = self.lognormal
        return float(np.exp(mean + sigma**2 / 2))

    def quantile_s(self, u: Floats) -> Floats:
        """Return stays [n] in seconds from uniform numbers [n]."""
        from scipy.special import ndtri  # loaded only where a scenario has such stays

        mean, sigma = self.lognormal
        return np.asarray(np.exp(mean + sigma * ndtri(u)))

    def length_biased_s(self, u: Floats) -> Floats:
        """Return stays [n] that are under way at a random time: again log-normal, with mean + sigma^2."""
        _, sigma = self.lognormal
        return self.quantile_s(u) * float(np.exp(sigma**2))


class WeibullStay(Stay):
    """{weibull: [scale, shape]}."""

    weibull: Annotated[tuple[StayScale, Shape], Field(strict=False)]  # a shape below 1: many short stays, few long ones

    @property
    def mean_s(self) -> float:
        """Return the mean stay [s]."""
        from scipy.special import gamma

        scale, shape = self.weibull
        return float(scale * gamma(1 + 1 / shape))

    def quantile_s(self, u: Floats) -> Floats:
        """Return stays [n] in seconds from uniform numbers [n]."""
        scale, shape = self.weibull
        return np.asarray(scale * (-np.log(u)) ** (1 / shape))

    def length_biased_s(self, u: Floats) -> Floats:
        """Return stays [n] that are under way at a random time: (x / scale)^shape has a gamma distribution."""
        from scipy.special import gammaincinv

        scale, shape = self.weibull
        return np.asarray(scale * gammaincinv(1 + 1 / shape, u) ** (1 / shape))


LAWS: dict[str, type[Stay]] = {"exponential": ExponentialStay, "lognormal": LogNormalStay, "weibull": WeibullStay}


def _parse(value: Any) -> Any:
    if isinstance(value, Stay):  # from Python rather than from YAML
        return value
    name = None
    if isinstance(value, dict):
        name = next(iter(value), None)
    if name not in LAWS:
        forms = "{exponential: mean}, {lognormal: [mean, sigma]} or {weibull: [scale, shape]}"
        raise fault(f"must be {forms}, got {shown(value)}")
    return LAWS[name].model_validate(value)


AnyStay = ExponentialStay | LogNormalStay | WeibullStay
StaySeconds = Annotated[SerializeAsAny[Stay], BeforeValidator(_parse, json_schema_input_type=AnyStay)]
"""The pydantic type of a key that holds a law of stays."""
