"""The bits of a message on the air."""

from collections.abc import Iterable
from typing import Any

from flwr.app import Array, RecordDict

LEAST_BITS = 32  # a message without arrays is priced as one number, like the answer to a poll
BITS_PER_BYTE = 8
NUMPY = "numpy.ndarray"  # the type of arrays that NumPy has serialised
BITS_PER_NUMBER = 64  # of lists of numbers in metrics and configurations


def bits_of(content: RecordDict) -> float:
    """Return the bits of a message's content.

    Arrays count with their elements, without the headers of their serialised form. In metrics and configurations,
    texts, bytes and lists count; a single number is free, like the losses and numbers of samples in other runs.
    """
    bits = 0
    for arrays in content.array_records.values():
        bits += sum(_array_bits(array) for array in arrays.values())
    for records in (content.metric_records, content.config_records):
        for record in records.values():
            bits += sum(_value_bits(value) for value in record.values())
    return float(max(bits, LEAST_BITS))


def parameters_in(content: RecordDict) -> int:
    """Return the number of parameters in the arrays of a message, without statistics of batch normalisation."""
    count = 0
    for arrays in content.array_records.values():
        for name, array in arrays.items():
            if not name.endswith(("running_mean", "running_var", "num_batches_tracked")):
                count += array.numpy().size if array.stype == NUMPY else len(array.data)
    return count


def _array_bits(array: Array) -> int:
    """Return the bits of an array's elements, or of its bytes if the app serialises it in another way."""
    # The fields `shape` and `dtype` of an array are empty in messages of Flower's workflows.
    size_bytes = array.numpy().nbytes if array.stype == NUMPY else len(array.data)
    return BITS_PER_BYTE * size_bytes


def _value_bits(value: Any) -> int:
    if isinstance(value, str):
        return BITS_PER_BYTE * len(value.encode())
    if isinstance(value, bytes):
        return BITS_PER_BYTE * len(value)
    if isinstance(value, Iterable):
        return sum(BITS_PER_NUMBER if isinstance(item, (int, float)) else _value_bits(item) for item in value)
    return 0
