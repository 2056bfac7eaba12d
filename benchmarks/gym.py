"""Measure the steps a second of an environment, beside the rounds a second of the plain run of the same world.

    python benchmarks/gym.py [SCENARIO] [--action devices,clocks] [--csi] [--episodes N]

Without SCENARIO 10 of 100 moving devices take part in each of 60 rounds, and transfers are short. Prints steps per
second of processor time, without learning, and the ratio to `edgefl run --no-train` of the same world. Processor time
does not count what other programs do meanwhile. Setup (the data of all devices, their attributes) is in both figures,
once an episode or run.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import edgefl
import edgefl.gym

WORLD = {
    "rounds": 60,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}},
    "server": {"participants": 10},
    "mobility": {"kind": "random_waypoint", "speed_mps": 10},
}
GOAL = 300  # steps a second in this world, on one quiet core


def plain_rate(scenario):
    """Return the rounds per second of processor time of a plain run."""
    began_s = time.process_time()
    rounds = len(edgefl.run(scenario, train=False).rounds)
    return rounds / (time.process_time() - began_s)


def agent_rate(env):
    """Return the steps per second of processor time of an episode in which a fixed action is repeated."""
    began_s = time.process_time()
    env.reset()
    action = env.follow()  # as many devices as the scenario asks for
    steps = 0
    ended = False
    while not ended:
        ended = env.step(action)[2]
        steps += 1
    return steps / (time.process_time() - began_s)


def main():
    """Print both rates and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", nargs="?", default=WORLD)
    parser.add_argument("--action", default="devices", help="what the agent decides, separated by commas")
    parser.add_argument("--csi", action="store_true", help="the agent also sees the channel of the coming round")
    parser.add_argument("--episodes", type=int, default=7, help="of each kind, in turn")
    arguments = parser.parse_args()
    action = arguments.action.split(",")
    observation = ["view"]
    if arguments.csi:
        observation.append("csi")
    env = edgefl.gym.make(arguments.scenario, action=action, observation=tuple(observation), new_worlds=False)
    plain_rate(arguments.scenario)  # the first of each fills caches
    agent_rate(env)
    plain = []
    agent = []
    for _ in range(arguments.episodes):  # in turn, so that both meet the same machine
        plain.append(plain_rate(arguments.scenario))
        agent.append(agent_rate(env))
    steps = statistics.median(agent)
    rounds = statistics.median(plain)
    print(f"plain run, no learning    {rounds:7.0f} rounds/s (median of {len(plain)}, best {max(plain):.0f})")
    print(
        f"environment               {steps:7.0f} steps/s  (median of {len(agent)}, best {max(agent):.0f}; goal {GOAL})"
    )
    print(f"environment / plain run   {steps / rounds:7.2f}")


if __name__ == "__main__":
    main()
