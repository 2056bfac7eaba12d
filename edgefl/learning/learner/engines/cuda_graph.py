"""Records the kernels of a function as a CUDA graph."""

from collections.abc import Callable

import torch

WARM_UPS = 2  # calls before: libraries allocate memory and choose their routines, which a record cannot hold


class CudaGraphs:
    """A recorder for one GPU, see `step_graphs.Recorder`."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        # Graphs run one after another, and nothing that one leaves in this memory is read later: they may share it.
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Callable[[], None]) -> Callable[[], None]:
        """Record a step, which runs a few times for that: fill its tensors again before a replay.

        Raises:
            RuntimeError: the step does what a graph cannot hold, such as waiting for a number.
        """
        with torch.cuda.device(self._device):
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(WARM_UPS):
                    step()
            graph = torch.cuda.CUDAGraph()
            try:
                # Other threads, which train on other GPUs or test a model, may allocate memory meanwhile.
                record = torch.cuda.graph(graph, pool=self._pool, stream=stream, capture_error_mode="thread_local")
                # A record that fails leaves its stream behind as the current one.
                with torch.cuda.stream(stream), record:
                    step()
            except RuntimeError as error:
                if isinstance(error.__context__, RuntimeError):
                    # Ending the record of a failed step fails, too, and hides why the step failed.
                    raise error.__context__ from None
                raise
            torch.cuda.current_stream().wait_stream(stream)

        def replay() -> None:
            with torch.cuda.device(self._device):
                graph.replay()

        return replay
