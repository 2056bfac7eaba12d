"""How far edgefl misses measurements that were left out of its calibration (docs/validation.md).

    python benchmarks/held_out.py

Rounds of E2FL (e2fl-rounds.csv beside this file: means of its logs are in the recipe third-party/e2fl-wifi; MIT
licence) stand beside the capacity that the sessions of other networks give, and steps of other rounds or of a law that
is fitted to other networks. Powers of a phone stand beside lines through its powers at other rates. A second table has
the error of each preset, as its key `held_out` has it: sigma is the root mean square of ln(measured / predicted).
"""

import csv
import statistics
from pathlib import Path

import numpy as np
from compute_law import on_large_images, on_small_images
from scipy.special import stdtrit

import edgefl
from edgefl.calibration.compute_fit import Setting, fit_law
from edgefl.calibration.fitting import relative_fit
from edgefl.calibration.log import read_counts
from edgefl.scenario import presets

HERE = Path(__file__).parent
PUBLISHED = Path(edgefl.__file__).parent / "reproductions" / "published"
STEPS = 204  # of a round of E2FL
BATCH_SIZE = 16
DOWNLOADS = {"download_s": "training", "evaluation_download_s": "evaluation"}
LEAST_BYTES = 1e6  # of a model whose downloads give the capacity
# Two rates are too few to leave one out, so three more of the same source are cited: network, direction, Mbit/s, W.
FURTHER = (
    ("5G low band", "down_w", 1.0407, 2.6789),
    ("5G low band", "down_w", 58.636, 4.0536),
    ("5G low band", "up_w", 1.0209, 3.1539),
)
# A Raspberry Pi 5 on two days (E2FL, MIT licence): watts while programs start, while it trains and while it evaluates.
SESSIONS = ({"start": 4.598, "train": 5.52, "evaluate": 5.355}, {"start": 4.5635, "train": 5.575, "evaluate": 5.552})
# Seconds and joules above idle of training steps of 1, 4 and 16 samples on a Meizu 16T (nine of the numbers of
# Benchmark-On-Device-Training cited).
PHONE_STEPS = {
    "lenet": ((0.008825, 0.014285), (0.011838, 0.019973), (0.02079, 0.040509)),
    "googlenet": ((0.286162, 0.490566), (0.567419, 1.127464), (1.763948, 3.450075)),
    "squeezenet": ((0.198012, 0.369501), (0.726776, 1.423697), (2.939705, 5.792141)),
}
# Multiply-accumulates of an image of 224 x 224 pixels, and of LeNet's of 28 x 28; the source states no sizes.
PHONE_MACS = {"lenet": 0.282e6, "googlenet": 1.498e9, "squeezenet": 0.819e9}
# Ten Raspberry Pis that one server serves in turn (MyStarNight/fl-experiment): seconds at which the first and the last
# are done, of two tasks, and of two others.
IN_TURN = ((8.532, 46.635), (8.438, 45.508), (11.712, 47.943), (11.784, 47.241))
IN_TURN_LATER = ((11.915, 45.865), (12.044, 49.542), (14.777, 48.232))
# Two phones (dimimat/on-device-fed-learning): mWh of 100 rounds of one epoch, and of ten rounds of ten.
ROUNDS_OR_EPOCHS = ((385, 51.8), (483.3, 73.5))
# Of E2FL's sessions with an upload that is alone on the air: seconds.
LAST_UPLOADS_S = {"squeezenet1_0": 1.591, "shufflenet_v2_x1_0": 3.878, "mobilenet_v3_small": 2.824}


def rows_of(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def told(title, errors):
    errors = np.array(errors)
    mean = f"{100 * np.abs(errors).mean():6.1f} %"
    print(f"{title:64s} {len(errors):3d} {mean} {100 * errors.min():+6.1f} % {100 * errors.max():+6.1f} %")


def told_by(title, errors):
    """Tell all errors together, and those of each name."""
    told(title, [error for found in errors.values() for error in found])
    for name, found in errors.items():
        told(f"  {name}", found)


def sessions():
    """Return E2FL's rounds by network; each network has its own session."""
    found = {}
    for row in rows_of(HERE / "e2fl-rounds.csv"):
        numbers = {key: float(value) for key, value in row.items() if key != "network"}
        found.setdefault(row["network"], []).append(numbers)
    return found


def capacity_bps(rounds):
    """Return the mean over training downloads of what the access point carried."""
    return statistics.fmean(
        8 * one["clients"] * one["payload_bytes"] / one["download_s"]
        for one in rounds
        if one["payload_bytes"] > LEAST_BYTES
    )


def mean_of(rounds, key):
    return statistics.fmean(one[key] for one in rounds)


def fit_phase_s(one, capacity, compute_s):
    """Return the seconds of all downloads, the slowest board's training, and its upload, alone on the air."""
    bits = 8 * one["payload_bytes"]
    return (one["clients"] + 1) * bits / capacity + compute_s


def capacities_of_others(found):
    """Return the capacity that the sessions of other networks give, by network."""
    return {
        network: capacity_bps([one for name, rounds in found.items() if name != network for one in rounds])
        for network in found
    }


def rounds_of_e2fl():
    found = sessions()
    capacities = capacities_of_others(found)
    downloads(found, capacities)
    told("last upload, capacity of other sessions' downloads", uploads(found, capacities))
    phases_by_other_rounds(found, capacities)
    phases_by_other_networks(found, capacities)


def downloads(found, capacities):
    for key, words in DOWNLOADS.items():
        told(f"last download before {words}, capacity of other sessions", errors_of_downloads(found, capacities, key))


def errors_of_downloads(found, capacities, key):
    return [
        8 * rounds[0]["clients"] * rounds[0]["payload_bytes"] / capacities[network] / mean_of(rounds, key) - 1
        for network, rounds in found.items()
    ]


def uploads(found, capacities):
    return [
        8 * found[network][0]["payload_bytes"] / capacities[network] / seconds - 1
        for network, seconds in LAST_UPLOADS_S.items()
    ]


def phases_by_other_rounds(found, capacities):
    errors = []
    for network, rounds in found.items():
        for one in rounds:
            others = [other for other in rounds if other is not one]
            if others:
                predicted_s = fit_phase_s(one, capacities[network], mean_of(others, "compute_s"))
                errors.append(predicted_s / one["fit_phase_s"] - 1)
    told("fit phase, steps of the network's other rounds", errors)


def phases_by_other_networks(found, capacities):
    """Tell errors of phases whose steps are those of the board's law, as `edgefl calibrate` fits it."""
    counts = read_counts(PUBLISHED / "testbed-network-counts.csv")
    steps = {
        network: Setting("pi3b", network, BATCH_SIZE, BATCH_SIZE, mean_of(rounds, "compute_s") / STEPS)
        for network, rounds in found.items()
    }
    errors = {}
    for network, rounds in found.items():
        law = fit_law([step for name, step in steps.items() if name != network], counts)
        compute_s = STEPS * law.step_s(counts[network], BATCH_SIZE)
        predicted_s = fit_phase_s(rounds[0], capacities[network], compute_s)
        errors[network] = [predicted_s / mean_of(rounds, "fit_phase_s") - 1]
    told_by("fit phase, steps by a law of the other networks", errors)


def radio_powers():
    """Return rates and watts by network and direction."""
    powers = {}
    for row in rows_of(PUBLISHED / "radio-power.csv"):
        for direction in ("down_w", "up_w"):
            if row[direction]:
                where = powers.setdefault((row["network"], direction), [])
                where.append((float(row["mbit_s"]), float(row[direction])))
    return powers


def powers_of_a_phone():
    """Tell errors of lines through the powers at other rates of the same network and direction."""
    for direction, words in (("down_w", "receives"), ("up_w", "sends")):
        found = {
            network: errors_of_line(network, direction, of_rate)
            for (network, way), of_rate in radio_powers().items()
            if way == direction
        }
        told_by(f"power of a phone that {words}, line of other rates", found)


def errors_of_line(network, direction, of_rate):
    """Return the error of each rate, by a line through the others."""
    further = [one[2:] for one in FURTHER if one[:2] == (network, direction)]
    found = []
    for left_out in of_rate:
        rates, watts = np.array([one for one in [*of_rate, *further] if one != left_out]).T
        base_w, j_per_mbit = relative_fit(np.stack([np.ones(len(rates)), rates], axis=1), watts)
        found.append((base_w + j_per_mbit * left_out[0]) / left_out[1] - 1)
    return found


def powers_of_boards():
    told("power of a Raspberry Pi 5, that of the other day", powers_of_days())
    told("power of a Raspberry Pi 3, curve through other clocks", powers_at_clocks())
    told("power of a phone that trains, mean of other networks", powers_of_training())


def powers_of_days():
    """Return the error of each power by that of the other day; of evaluating, by that of training."""
    errors = []
    for measured, other in zip(SESSIONS, reversed(SESSIONS), strict=True):
        predicted = {"start": other["start"], "train": other["train"], "evaluate": other["train"]}
        errors += [predicted[state] / watts - 1 for state, watts in measured.items()]
    return errors


def powers_at_clocks():
    """Return the error of each clock by P0 + kappa f^3 through the others."""
    clocks, watts = np.array([list(map(float, row.values())) for row in rows_of(PUBLISHED / "pi-clocks.csv")]).T
    features = np.stack([np.ones(len(clocks)), clocks**3], axis=1)
    errors = []
    for place in range(len(clocks)):
        kept = np.arange(len(clocks)) != place
        errors.append(features[place] @ relative_fit(features[kept], watts[kept]) / watts[place] - 1)
    return errors


def powers_of_training():
    """Return the error of each network and batch size by the mean power of the other networks."""
    watts = {network: [joules / seconds for seconds, joules in steps] for network, steps in PHONE_STEPS.items()}
    errors = []
    for network, found in watts.items():
        mean_w = np.mean([watt for other, of_other in watts.items() if other != network for watt in of_other])
        errors += [mean_w / watt - 1 for watt in found]
    return errors


def other_testbeds():
    turn_s = np.mean([(last_s - first_s) / 9 for first_s, last_s in IN_TURN])
    errors = [9 * turn_s / (last_s - first_s) - 1 for first_s, last_s in IN_TURN_LATER]
    told("last of ten boards served in turn, turns of other tasks", errors)
    (one, one_of_ten), (other, other_of_ten) = ROUNDS_OR_EPOCHS
    told("energy of ten rounds of ten epochs, ratio of another phone", [other * one_of_ten / one / other_of_ten - 1])


def errors_of_presets():
    """Return preset, quantity, kind, errors, how many of them are independent, and their source."""
    pi = "E2FL, halves of four networks"
    vision = "federated-embedded-vision"
    lte = [
        error
        for direction in ("down_w", "up_w")
        for error in errors_of_line("LTE", direction, radio_powers()["LTE", direction])
    ]
    link = presets.read("radio", "wifi_shared")
    rate_bps = link["bandwidth_hz"] * link["rate"]["max_bps_hz"]
    preset_bps = {key: rate_bps * (1 - overhead) for key, overhead in link["overhead"].items()}
    found = sessions()
    own = capacities_of_others(found)
    down = [error for key in DOWNLOADS for error in errors_of_downloads(found, own, key)]
    far_down = errors_of_downloads(found, dict.fromkeys(found, preset_bps["downlink"]), "download_s")
    far_up = uploads(found, dict.fromkeys(found, preset_bps["uplink"]))
    return [
        ("raspberry_pi_3", "compute", "small_images", ratios_of(on_small_images("pi3b-b")), 4, pi),
        ("raspberry_pi_3", "power", "", powers_at_clocks(), 4, "Birnbaum, clocks"),
        ("raspberry_pi_4", "compute", "large_images", ratios_of(on_large_images("pi4b")), 22, vision),
        ("raspberry_pi_4", "compute", "small_images", ratios_of(on_small_images("pi4b")), 4, pi),
        ("raspberry_pi_5", "compute", "large_images", ratios_of(on_large_images("pi5")), 9, vision),
        ("raspberry_pi_5", "compute", "small_images", ratios_of(on_small_images("pi5")), 4, pi),
        ("raspberry_pi_5", "power", "", powers_of_days(), 2, "E2FL, days"),
        ("phone", "compute", "large_images", phone_by_squeezenet("googlenet"), 1, "Meizu 16T, GoogLeNet by SqueezeNet"),
        ("phone", "compute", "small_images", phone_by_squeezenet("lenet"), 1, "Meizu 16T, LeNet by SqueezeNet"),
        ("phone", "power", "", [*powers_of_training(), *lte], 5, "Meizu 16T, networks; LTE, directions"),
        ("wifi_shared", "downlink", "", far_down, 1, "E2FL, one access point"),
        ("wifi_shared", "uplink", "", far_up, 1, "E2FL, one access point"),
        ("(testbed-pi)", "downlink", "", down, 4, "E2FL, sessions by its own capacity"),
        ("(testbed-pi)", "uplink", "", uploads(found, own), 3, "E2FL, sessions by its own capacity"),
    ]


def ratios_of(found):
    return [ratio - 1 for ratio in found.values()]


def phone_by_squeezenet(network):
    """Return the error of a step of 16 samples, by multiply-accumulates over SqueezeNet's speed."""
    (step_s, _), (own_s, _) = PHONE_STEPS["squeezenet"][-1], PHONE_STEPS[network][-1]
    return [step_s * PHONE_MACS[network] / PHONE_MACS["squeezenet"] / own_s - 1]


def presets_table():
    print(f"{'preset':16s} {'quantity':10s} {'kind':14s} {'sigma':>6s} {'numbers':>8s}  source")
    rows = errors_of_presets()
    for preset, quantity, kind, errors, numbers, source in rows:
        print(f"{preset:16s} {quantity:10s} {kind:14s} {sigma_of(errors):6.3f} {numbers:8d}  {source}")
    for section in presets.SECTIONS:
        for preset in presets.names(section):
            if preset not in {row[0] for row in rows}:
                print(f"{preset:16s} none")


def sigma_of(errors):
    """Return the root mean square of ln(measured / predicted)."""
    return float(np.sqrt(np.mean(np.log1p(errors) ** 2)))


def inside():
    """Return for each number whether it lies in the 90 % interval that the errors of the other numbers give."""
    found = []
    for *_, errors, _, _ in errors_of_presets():
        logarithms = np.log1p(errors)
        for row in range(len(logarithms) if len(logarithms) > 2 else 0):
            others = np.delete(logarithms, row)
            half = np.sqrt(np.mean(others**2)) * stdtrit(len(others), 0.95)
            found.append(abs(logarithms[row]) <= half)
    return found


def main():
    print(f"{'left out of the calibration':64s}   n    mean   lowest  highest")
    rounds_of_e2fl()
    powers_of_a_phone()
    powers_of_boards()
    other_testbeds()
    print()
    presets_table()
    found = inside()
    print(f"\ninside the 90 % interval by the errors of the others: {sum(found)} of {len(found)} numbers")


if __name__ == "__main__":
    main()
