"""The loop of `channel.link_race`, compiled if numba is installed: fading, link adaptation and sums."""

import math
from typing import Any

from channel import _compiled, innovations, link_adaptation, link_columns

FIRST_DB = link_adaptation.FIRST_DB
STEP_DB = link_adaptation.STEP_DB
LAST_PLACE = link_adaptation.GRID_VALUES - 1
WEAKEST_SNR = link_adaptation.WEAKEST_SNR
DB_PER_NEPER = link_adaptation.DB_PER_NEPER
AHEAD = link_columns.AHEAD_SLOTS

_sfc64 = _compiled.sfc64()
fill = innovations.fill_normals if _sfc64 is None else _sfc64.fill
fill_uniforms = innovations.fill_uniforms if _sfc64 is None else _sfc64.fill_uniforms


def _race(  # noqa: C901, PLR0912, PLR0915 - numba compiles one function
    sources: Any,
    given: Any,
    links: Any,
    limit: Any,
    efficiencies: Any,
    error_rates: Any,
    reached_db: Any,
    limits: tuple[float, float, float, float],
    state: Any,
    gains: Any,
    draws: Any,
    fading: Any,
    chance: Any,
) -> Any:
    """Walk the rows slot by slot until the first payload is complete; see link_race.race."""
    up_db, down_db, most_db, transmissions = limits
    rows = len(state)
    delay = state.shape[1] - link_columns.REPORTS
    highest = len(efficiencies) - 1
    for slot in range(limit):
        complete = False
        for row in range(rows):
            mean_snr = links[row, link_columns.MEAN_SNR]
            if sources[row] == link_columns.GIVEN:
                snr = given[row, slot]
            else:
                place = int(state[row, link_columns.PLACE])
                if place == AHEAD:
                    place = 0
                    rho = links[row, link_columns.CORRELATION]
                    innovation = links[row, link_columns.INNOVATION]
                    real = gains[row, 2 * AHEAD - 2]
                    imag = gains[row, 2 * AHEAD - 1]
                    if sources[row] == link_columns.CONSTANT:
                        gains[row] = 0.0
                    else:
                        fill(fading[row], gains[row])
                    for ahead in range(AHEAD):
                        real = innovation * gains[row, 2 * ahead] + rho * real
                        imag = innovation * gains[row, 2 * ahead + 1] + rho * imag
                        gains[row, 2 * ahead] = real
                        gains[row, 2 * ahead + 1] = imag
                state[row, link_columns.PLACE] = place + 1
                scatter = links[row, link_columns.SCATTER]
                in_phase = links[row, link_columns.LINE] + scatter * gains[row, 2 * place]
                quadrature = scatter * gains[row, 2 * place + 1]
                snr = (in_phase * in_phase + quadrature * quadrature) * mean_snr
            if not mean_snr > 0.0:  # without a share it sends no blocks
                continue
            snr_db = DB_PER_NEPER * math.log(max(snr, WEAKEST_SNR))
            # The transmitter knows the SNR of some slots ago; at first that of its first slot.
            reported_db = snr_db
            if delay > 0:
                report = int(state[row, link_columns.REPORT])
                if report < 0:
                    state[row, link_columns.REPORTS :] = snr_db
                    report = 0
                reported_db = state[row, link_columns.REPORTS + report]
                state[row, link_columns.REPORTS + report] = snr_db
                state[row, link_columns.REPORT] = (report + 1) % delay
            draw_place = int(state[row, link_columns.DRAW_PLACE])
            if draw_place == AHEAD:
                fill_uniforms(chance[row], draws[row])
                draw_place = 0
            state[row, link_columns.DRAW_PLACE] = draw_place + 1
            is_first = state[row, link_columns.SENT] == 0.0
            scheme = int(state[row, link_columns.SCHEME])
            total = snr
            total_db = snr_db
            draw = state[row, link_columns.DRAW]
            if is_first:
                level_db = (
                    reported_db + state[row, link_columns.OFFSET]
                )  # the search begins at the scheme of the block before
                while scheme < highest and reached_db[scheme + 1] <= level_db:
                    scheme += 1
                while scheme > 0 and reached_db[scheme] > level_db:
                    scheme -= 1
                state[row, link_columns.SCHEME] = scheme
                draw = draws[row, draw_place]
                state[row, link_columns.DRAW] = draw
            else:
                total = state[row, link_columns.TOTAL] + snr
                total_db = DB_PER_NEPER * math.log(max(total, WEAKEST_SNR))
            place_db = (total_db - FIRST_DB) / STEP_DB
            if place_db <= 0.0:
                rate = error_rates[scheme, 0]
            elif place_db >= LAST_PLACE:
                rate = error_rates[scheme, LAST_PLACE]
            else:
                left = int(place_db)
                part = place_db - left
                rate = error_rates[scheme, left] * (1.0 - part) + error_rates[scheme, left + 1] * part
            is_lost = draw < rate
            if is_first:
                state[row, link_columns.FIRST_SENT] += 1.0
                if is_lost:
                    state[row, link_columns.FIRST_LOST] += 1.0
                    state[row, link_columns.OFFSET] = max(state[row, link_columns.OFFSET] - down_db, -most_db)
                else:
                    state[row, link_columns.OFFSET] = min(state[row, link_columns.OFFSET] + up_db, most_db)
            if is_lost:
                state[row, link_columns.TOTAL] = total
                state[row, link_columns.SENT] += 1.0
                if state[row, link_columns.SENT] >= transmissions:
                    state[row, link_columns.SENT] = 0.0  # dropped: its bits go into new blocks
            else:
                state[row, link_columns.SENT] = 0.0
                state[row, link_columns.BITS] += efficiencies[scheme] * links[row, link_columns.SLOT_HZ_S]
                complete |= state[row, link_columns.BITS] >= links[row, link_columns.PAYLOAD_BITS]
        if complete:
            return slot + 1
    return limit


race: Any = _race
if _sfc64 is not None:
    # With its types, so that it is compiled once.
    from channel._compiling import compiled

    race = compiled(
        _race,
        "i8(i8[::1], f8[:, ::1], f8[:, ::1], i8, f8[::1], f8[:, ::1], f8[::1], UniTuple(f8, 4),"
        " f8[:, ::1], f8[:, ::1], f8[:, ::1], u8[:, ::1], u8[:, ::1])",
    )
