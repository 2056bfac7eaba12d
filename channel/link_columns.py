"""The columns of the tables of `channel.link_race`, and where the fading of a row comes from."""

AHEAD_SLOTS = 16  # of each row, which are drawn together
# Columns of the links. The slot's bandwidth carries payload, and is multiplied by the slot's length.
CORRELATION, INNOVATION, LINE, SCATTER, MEAN_SNR, SLOT_HZ_S, PAYLOAD_BITS = range(7)
# Columns of the state: the outer loop's offset, the block's scheme, sum of SNRs, transmissions and draw; first
# transmissions, those lost, bits; places in the gains, in the draws and in the reports (-1: none so far), which follow.
OFFSET, SCHEME, TOTAL, SENT, DRAW, FIRST_SENT, FIRST_LOST, BITS, PLACE, DRAW_PLACE, REPORT, REPORTS = range(12)
# Where the fading of a row comes from.
PROCESS = 0  # a process of slots, with draws
CONSTANT = 1  # the same without draws: its strength does not change
GIVEN = 2  # the caller gives the SNR of each slot
