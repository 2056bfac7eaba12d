"""The statuses of `devices.csv`: the ways that participations end.

Others are failures (`edgefl.server.participation.FAILED`) and causes of interrupts, such as departures.
"""

RECEIVED = "received"
LATE = "late"
OUT_OF_MEMORY = "out_of_memory"  # the device cannot hold a step of training, and has refused before the download
ANSWERED = "answered"  # the device has answered a message that did not ask for training
POLLED = "polled"  # the device was asked for a loss or a norm and not chosen, with or without an answer
REPORTED = "reported"  # the device only reported its channel, before participants were chosen
EVALUATED = "evaluated"  # the device has evaluated the round's new model, and its answer has arrived
EVALUATION_FAILED = "evaluation_failed"  # the same, but the answer never arrived: an event says why
EVALUATIONS = (EVALUATED, EVALUATION_FAILED)
NOT_CHOSEN = (POLLED, ANSWERED, REPORTED, *EVALUATIONS)  # the device was not asked for an update
