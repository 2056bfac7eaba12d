"""Samples: what is stored, how it is normalised, and where images are cropped and mirrored."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from learner_cases import learners, parts_in_order, train_round
from scipy.stats import chisquare

import edgefl
from edgefl.core.streams import Streams
from edgefl.learning.data_section import Augmentation
from edgefl.learning.datasets import Data
from edgefl.learning.learner.engines.samples import Samples, augmentation_draws
from edgefl.learning.learner.plans.plan import SERIAL, Plan

N = 12
ROWS = torch.tensor([[3, 0, 3], [11, 7, 5]])  # two clients, one sample twice
MEAN = 33.3
STD = 78.6
AUGMENTATIONS = [Augmentation(crop_padding=p, flip=f) for p, f in [(4, True), (1, False), (0, True), (20, True)]]


def images(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 256, (N, *shape), dtype=np.uint8) if dtype == "uint8" else rng.normal(size=(N, *shape), loc=2.0)
    )


def samples(x, mean=MEAN, std=STD, dtype=torch.float32, augmentation=None):
    return Samples(
        x=x, y=np.arange(len(x)) % 3, mean=mean, std=std, device="cpu", dtype=dtype, augmentation=augmentation
    )


def normalised(x, mean=MEAN, std=STD):
    return (x.astype(np.float64) - mean) / std


def assert_near(got, expected, dtype=torch.float32):
    """To a few units in the last place of numbers of the size of mean / std."""
    assert got.dtype == dtype
    assert got.shape == expected.shape
    assert np.abs(got.double().numpy() - expected).max() < 8 * torch.finfo(dtype).eps * np.abs(expected).max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(28, 28), (3, 8, 8), (5,)])
class TestNormalisation:
    def test_bytes_stay_bytes(self, shape, dtype):
        x = images(shape, "uint8")
        x.flat[:2] = 0, 255
        of = samples(x, dtype=dtype)
        assert of.x.dtype == torch.uint8
        assert of.x.nbytes == x.nbytes
        assert_near(of.batch(ROWS), normalised(x)[ROWS], dtype)
        assert_near(of.part(2, 9), normalised(x)[2:9], dtype)
        assert np.array_equal(of.x.numpy(), x), "normalised in place"

    @pytest.mark.parametrize("stored", [np.float32, np.float64])
    def test_floats(self, shape, dtype, stored):
        x = images(shape, "float").astype(stored)
        before = x.copy()
        of = samples(x, 2.0, 0.5, dtype)
        expected = normalised(x, 2.0, 0.5)
        assert_near(of.batch(ROWS), expected[ROWS], dtype)
        assert_near(of.part(2, 9), expected[2:9], dtype)
        assert_near(of.batch(ROWS), expected[ROWS], dtype)  # a second time, too
        assert np.array_equal(x, before)

    def test_labels_and_length(self, shape, dtype):
        of = samples(images(shape, "uint8"), dtype=dtype)
        assert len(of) == N
        assert of.labels(ROWS).tolist() == (ROWS % 3).tolist()


@pytest.mark.parametrize("stored", ["uint8", "float32"])
@pytest.mark.parametrize("cropped", [False, True])
def test_each_channel_by_its_own_statistics(stored, cropped):
    """As if each channel were a set of its own, padding of crops included: black pixels of bytes, zero of floats."""
    x = np.random.default_rng(3).integers(0, 255, (5, 3, 4, 4)).astype(stored)
    mean = np.array([10.0, 100.0, 30.0])
    std = np.array([3.0, 50.0, 7.0])
    crops = Augmentation(crop_padding=2) if cropped else None
    draws = torch.from_numpy(np.random.default_rng(4).integers(0, [5, 5, 2], (5, 3))) if cropped else None
    rows = torch.arange(5)
    y = np.zeros(5, dtype=np.int64)

    def batch(images, mean, std):
        samples = Samples(x=images, y=y, mean=mean, std=std, device="cpu", dtype=torch.float64, augmentation=crops)
        return samples.batch(rows, draws)

    together = batch(x, mean.reshape(-1, 1, 1), std.reshape(-1, 1, 1))
    for channel in range(3):
        alone = batch(x[:, channel], float(mean[channel]), float(std[channel]))
        assert torch.allclose(together[:, channel], alone, rtol=1e-12, atol=1e-12)


def test_as_numpy_in_single_precision():
    """The bytes of MNIST: what numpy makes of each of the 256, to two units in the last place of the largest."""
    x = np.arange(256, dtype=np.uint8)[:, None]
    mean = np.float32(0.1307 * 255)
    std = np.float32(0.3081 * 255)
    expected = (x.astype(np.float32) - mean) / std
    got = samples(x, float(mean), float(std)).part(0, 256).numpy()
    assert got.dtype == expected.dtype
    assert np.abs(got - expected).max() <= 2 * np.spacing(expected.max())


@pytest.mark.parametrize("stored", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("mean", "std"), [(0.0, 1.0), (0.0, 3.0), (0.1, 1.0), (33.3, 78.6), (np.full((3, 1, 1), 0.1), 0.3)]
)
def test_floats_have_the_bits_of_a_difference_and_a_quotient(stored, dtype, mean, std):
    x = np.random.default_rng(5).normal(size=(N, 3, 4, 4)).astype(stored)
    x.flat[:2] = 0.0, -0.0
    tensor_mean = torch.as_tensor(mean, dtype=dtype)
    expected = (torch.from_numpy(x).to(dtype) - tensor_mean) / torch.as_tensor(std, dtype=dtype)
    got = samples(x, mean, std, dtype).part(0, N)
    assert got.numpy().tobytes() == expected.numpy().tobytes()


@pytest.mark.parametrize("stored", [np.float32, np.int64])
def test_samples_that_need_nothing_stay_where_they_are_and_are_not_overwritten(stored):
    """Torch's warning of arrays that cannot be written would be an error here."""
    x = np.arange(N * 4).reshape(N, 4).astype(stored)
    x.flags.writeable = False
    of = samples(x, 0.0, 1.0)
    assert of.x.data_ptr() == x.ctypes.data
    of.part(2, 9).zero_()
    of.batch(ROWS).zero_()
    assert np.array_equal(x, np.arange(N * 4).reshape(N, 4))


MAPPED = """
import resource, sys
from pathlib import Path
import numpy as np
import edgefl

keys = {"rounds": 2, "model": "logistic", "devices": {"count": 4}, "server": {"participants": 2}}
keys["training"] = {"local_steps": 2, "engine": "serial"}
more = eval(sys.argv[1])
limit = float(sys.argv[2])

def load():
    x = np.load("x.npy", mmap_mode="r")
    y = np.arange(len(x)) % 10
    return {"train_x": x[500:], "train_y": y[500:], "test_x": x[:500], "test_y": y[:500], **more}

edgefl.run({**keys, "data": {"dataset": "digits"}}, out="small", device="cpu")
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
private = 1024 * int(status["VmData"].split()[0])
allowed = private + int(limit * Path("x.npy").stat().st_size)
resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
assert edgefl.run({**keys, "data": {"dataset": load}}, out="large", device="cpu").status == "finished"
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit private memory alone")
@pytest.mark.parametrize(
    ("more", "limit"), [({}, 0.4), ({"mean": 0.5, "std": 2.0}, 1.4)], ids=["as it is", "normalised"]
)
def test_floats_of_a_file_are_copied_once_at_most(tmp_path, more, limit):
    """A limit on private memory, in sizes of the file, which is mapped: 200 MB, and nothing but holes on the disk."""
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (50_000, 1_000)).flush()
    command = [sys.executable, "-W", "error", "-c", MAPPED, repr(more), str(limit)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_token_ids_are_returned_unchanged():
    x = np.random.default_rng(0).integers(0, 2**40, (N, 6))
    of = samples(x, 3.0, 2.0)
    assert of.batch(ROWS).dtype == torch.int64
    assert np.array_equal(of.batch(ROWS).numpy(), x[ROWS])
    assert np.array_equal(of.part(2, 9).numpy(), x[2:9])


def augmented(image, draw, padding):
    """One image [..., H, W] as stored: padded with zeros, cut out, mirrored."""
    down, right, flip = draw
    height, width = image.shape[-2:]
    sides = [(0, 0)] * (image.ndim - 2) + [(padding, padding)] * 2
    cut = np.pad(image, sides)[..., down : down + height, right : right + width]
    return cut[..., ::-1] if flip else cut


@pytest.mark.parametrize("augmentation", AUGMENTATIONS, ids=str)
@pytest.mark.parametrize("shape", [(28, 28), (3, 8, 8), (2, 5, 9)])
@pytest.mark.parametrize("stored", ["uint8", "float"])
class TestAugmentation:
    def test_image_by_image(self, augmentation, shape, stored):
        """Zeros as stored, so black and not grey; after normalisation they are -mean / std."""
        x = images(shape, stored)
        mean, std = (MEAN, STD) if stored == "uint8" else (2.0, 0.5)
        of = samples(x, mean, std, torch.float64, augmentation)
        rows = torch.from_numpy(np.random.default_rng(1).integers(0, N, (4, 30)))
        draws = augmentation_draws((4, 30), augmentation, np.random.default_rng(2))
        got = of.batch(rows, torch.from_numpy(draws))
        pairs = zip(rows.flatten(), draws.reshape(-1, 3), strict=True)
        expected = np.stack([augmented(x[row], draw, augmentation.crop_padding) for row, draw in pairs])
        assert_near(got, normalised(expected, mean, std).reshape(4, 30, *shape), torch.float64)

    def test_extreme_draws_show_the_corners(self, augmentation, shape, stored):
        """The extreme offsets, mirrored and not."""
        x = images(shape, stored)
        most = 2 * augmentation.crop_padding
        of = samples(x, dtype=torch.float64, augmentation=augmentation)
        draws = np.array([[d, r, f] for d in (0, most) for r in (0, most) for f in range(1 + augmentation.flip)])
        got = of.batch(torch.full((len(draws),), 5), torch.from_numpy(draws))
        expected = np.stack([augmented(x[5], draw, augmentation.crop_padding) for draw in draws])
        assert_near(got, normalised(expected), torch.float64)

    def test_tests_are_not_augmented(self, augmentation, shape, stored):
        x = images(shape, stored)
        of = samples(x, augmentation=augmentation)
        plain = samples(x)
        assert torch.equal(of.batch(ROWS), plain.batch(ROWS))
        assert torch.equal(of.part(0, N), plain.part(0, N))


@pytest.mark.parametrize("stored", ["uint8", "float"])
@pytest.mark.parametrize("channels", [False, True])
def test_padding_after_normalisation_is_zero(stored, channels):
    """FedSSG's order: normalise, then pad and cut, image by image; also where each channel has its own statistics."""
    x = images((3, 6, 7), stored)
    mean = 2.0
    std = 0.5
    if channels:
        mean, std = (np.array(value).reshape(3, 1, 1) for value in ([2.0, 60.0, 9.0], [0.5, 30.0, 4.0]))
    section = Augmentation(crop_padding=2, fill="mean")
    draws = augmentation_draws((N,), section, np.random.default_rng(2))
    got = Samples(
        x=x, y=np.zeros(N, dtype=np.int64), mean=mean, std=std, device="cpu", dtype=torch.float64, augmentation=section
    )
    normal = (x.astype(np.float64) - mean) / std
    expected = np.stack([augmented(image, draw, 2) for image, draw in zip(normal, draws, strict=True)])
    assert_near(got.batch(torch.arange(N), torch.from_numpy(draws)), expected, torch.float64)


def test_draws_of_padded_batches_are_harmless():
    """Draws are filled up with -1 for clients with fewer samples."""
    of = samples(images((28, 28), "uint8"), augmentation=Augmentation())
    assert torch.isfinite(of.batch(ROWS, torch.full((*ROWS.shape, 3), -1))).all()


class TestDraws:
    @pytest.mark.parametrize("augmentation", AUGMENTATIONS, ids=str)
    def test_draws_are_uniform(self, augmentation):
        """Chi-square on 40,000 draws of each number, alpha 1e-3, seed fixed; all values come up, and no others."""
        draws = augmentation_draws((100, 400), augmentation, np.random.default_rng(3))
        assert draws.shape == (100, 400, 3)
        assert draws.dtype == np.int64
        sizes = [2 * augmentation.crop_padding + 1] * 2 + [2 if augmentation.flip else 1]
        for column, size in zip(draws.reshape(-1, 3).T, sizes, strict=True):
            counts = np.bincount(column, minlength=size)
            assert len(counts) == size
            assert size == 1 or chisquare(counts).pvalue > 1e-3

    @pytest.mark.parametrize("share", [0.0, 0.5])
    def test_some_are_not_cropped(self, share):
        """The middle comes up for 1 - p + p / 9 of 40,000, to four standard deviations; flips are as they were."""
        of = augmentation_draws(
            (40_000,), Augmentation(crop_padding=1, crop_probability=share), np.random.default_rng(5)
        )
        always = augmentation_draws((40_000,), Augmentation(crop_padding=1), np.random.default_rng(5))
        chance = 1 - share + share / 9
        middle = (of[:, :2] == 1).all(axis=1)
        assert abs(middle.mean() - chance) <= 4 * np.sqrt(chance * (1 - chance) / 40_000)
        assert np.array_equal(of[~middle], always[~middle])
        assert np.array_equal(of[:, 2], always[:, 2])

    def test_draws_are_independent(self):
        """Chi-square of all combinations of down, right and mirrored, alpha 1e-3."""
        draws = augmentation_draws((40_000,), Augmentation(crop_padding=1, flip=True), np.random.default_rng(4))
        assert chisquare(np.bincount(draws @ [6, 2, 1], minlength=18)).pvalue > 1e-3

    def test_the_key_decides(self):
        def draws(*key):
            return augmentation_draws((3, 5), Augmentation(), Streams(1).generator("augmentation", *key))

        assert np.array_equal(draws(7, 2), draws(7, 2))
        others = [draws(7, 3), draws(8, 2)]
        assert not any(np.array_equal(draws(7, 2), other) for other in others)


SIZES = [7, 20, 13, 1]
DEVICES = range(len(SIZES))
PLANS = [SERIAL, *(Plan("batched", kernel, width) for kernel in ("vmap", "layers") for width in (1, 3))]


class TestTraining:
    """Through a learner: the draws belong to (device, round), whatever the engine."""

    @pytest.fixture
    def trained(self):
        def run(plan, augmentation, *, index=1, devices=DEVICES, x=None, processes=0, **training):
            rng = np.random.default_rng(0)
            x = rng.integers(0, 256, (sum(SIZES), 6, 6), dtype=np.uint8) if x is None else x
            y = rng.integers(0, 3, sum(SIZES))
            data = Data(x, y, x[:9], y[:9], 3, mean=100.0, std=70.0, dtype="float64")
            own = {"data": data, "parts": parts_in_order(SIZES), "seed": 2, "augmentation": augmentation}
            work = {"batch_size": 4, "local_epochs": 2, **training}
            with learners() as make:
                of = make(plan=plan, processes=processes, **own, **work)
                updates, _ = train_round(of, devices, index)
                loss = of.evaluate(of.initial).result().loss
            return updates.vectors["delta"], loss

        return run

    @pytest.mark.oracle
    @pytest.mark.parametrize("training", [{}, {"batch_size": "full"}])
    def test_engines_agree(self, trained, training):
        augmentation = Augmentation(crop_padding=2)
        oracle, _ = trained(SERIAL, augmentation, **training)
        for plan in PLANS[1:]:
            for expected, got in zip(oracle, trained(plan, augmentation, **training)[0], strict=True):
                assert torch.linalg.norm(got - expected) <= 1e-10 * torch.linalg.norm(expected)

    def test_augmentation_changes_the_run(self, trained):
        """To training and not to tests; and other things in another round."""
        augmentation = Augmentation(crop_padding=2)
        (with_it, tested) = trained(SERIAL, augmentation)
        (without, plainly) = trained(SERIAL, None)
        assert tested == plainly
        far = torch.linalg.norm(with_it - without, dim=1) / torch.linalg.norm(without, dim=1)
        assert float(far.min()) > 0.01
        nothing = trained(SERIAL, Augmentation(crop_padding=0, flip=False))[0]
        assert torch.allclose(nothing, without, rtol=1e-10, atol=1e-13)

    def test_rounds_have_different_draws(self, trained):
        """With one sample rounds cannot differ in the order of batches."""
        augmentation = Augmentation(crop_padding=2)
        first, again, second = (trained(SERIAL, augmentation, index=k, devices=[3])[0] for k in (0, 0, 1))
        assert torch.equal(first, again)
        assert not torch.allclose(first, second, rtol=1e-3)
        assert torch.equal(*(trained(SERIAL, None, index=k, devices=[3])[0] for k in (0, 1)))

    @pytest.mark.parametrize(("steps", "index"), [(1, 0), (1, 4), (6, 1)])
    def test_draws_are_those_of_device_and_round(self, trained, steps, index):
        """One sample: its first step is on the image that its key says, and later ones are on others."""
        augmentation = Augmentation(crop_padding=2)
        work = {"local_epochs": None, "local_steps": steps}
        got = trained(SERIAL, augmentation, devices=[3], index=index, **work)[0]
        draws = augmentation_draws((steps, 1), augmentation, Streams(2).generator("augmentation", 3, index))
        x = np.random.default_rng(0).integers(0, 256, (sum(SIZES), 6, 6), dtype=np.uint8)
        x[-1] = augmented(x[-1], draws[0, 0], 2)
        constant = trained(SERIAL, None, devices=[3], index=index, x=x, **work)[0]
        assert torch.allclose(got, constant, rtol=1e-9, atol=1e-12) == (steps == 1)

    @pytest.mark.oracle
    @pytest.mark.parametrize("plan", PLANS[::3], ids=str)
    def test_devices_alone_or_together_or_in_a_worker(self, trained, plan):
        augmentation = Augmentation(crop_padding=2)
        together, _ = trained(plan, augmentation, processes=1)
        alone = torch.cat([trained(plan, augmentation, devices=[device])[0] for device in range(len(SIZES))])
        assert torch.allclose(together, alone, rtol=1e-9, atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ["serial", "batched"])
def test_augmentation_works_in_a_scenario(engine):
    def run(**augmentation):
        return edgefl.run(
            {
                "rounds": 2,
                "data": {"dataset": "digits", **augmentation},
                "model": {"kind": "fcn", "hidden": [16]},
                "training": {"local_epochs": 1, "engine": engine, "width": 4},
                "devices": {"count": 8},
            }
        ).rounds["train_loss"]

    with_it, again = (run(augmentation={"crop_padding": 2, "flip": True}) for _ in range(2))
    assert with_it.tolist() == again.tolist()
    assert with_it.tolist() != run().tolist()
    assert with_it.notna().all()
