#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far predicted times are from measured ones, from what bench_model_accuracy printed: a section of docs/cost_model.md by
device, and docs/measurements/model_accuracy.md by layer.

    bench/model_accuracy.py

Reads docs/measurements/model_*.csv, search_*.csv and choices_*.csv, each one device. Of the first it reports the rank correlation of
predicted and measured time, overall and per layer, and the time of the model's first choice over the best of the random
schedules and itself; of the second, layers of networks, the best of all that were timed as a share of the first choice; of the
third, kernels of networks as bench/first_choices.py measures them, by kind the first choice over the best that tuning found.
"""
import csv
import math
import statistics

import page
from page import geomean


def ranks(values):
    """Ranks from 0, equal values sharing the mean of theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    result = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end + 1 < len(order) and values[order[end + 1]] == values[order[begin]]:
            end += 1
        for i in order[begin:end + 1]:
            result[i] = (begin + end) / 2
        begin = end + 1
    return result


def spearman(pairs):
    return statistics.correlation(*map(ranks, zip(*pairs))) if len(pairs) > 2 else math.nan


def first_over_best(rows):
    """The model's first choice against the best of the random schedules and itself."""
    first = next(r["measured"] for r in rows if r["origin"] == "top")
    return first / min([first] + [r["measured"] for r in rows if r["origin"] == "sample"])


def read(path):
    rows = list(csv.DictReader(path.open()))
    for row in rows:
        row["predicted"], row["measured"] = float(row["predicted_us"]), float(row["measured_us"])
    return rows


def by_layer(rows):
    layers = {}
    for row in rows:
        layers.setdefault(row["layer"], []).append(row)
    return layers


def device_row(path):
    """Device, layers, pairs, rank correlation, and the first choice over the best of the random schedules and itself."""
    rows = read(path)
    overall = spearman([(r["predicted"], r["measured"]) for r in rows])
    losses = list(map(first_over_best, by_layer(rows).values()))
    errors = [abs(math.log(r["predicted"] / r["measured"])) for r in rows]
    return [f"{rows[0]['device']} ({path.name})", len(losses), len(rows), f"{overall:.3f}", f"{math.exp(statistics.median(errors)):.2f}",
            f"{geomean(losses):.3f}", f"{max(losses):.3f}"]


def device_section(path):
    rows = read(path)
    lines = []
    for name, of_layer in by_layer(rows).items():
        rho = spearman([(r["predicted"], r["measured"]) for r in of_layer])
        first = next(r for r in of_layer if r["origin"] == "top")
        spread = (float(first["p90_us"]) - float(first["p10_us"])) / first["measured"]
        lines.append([name, len(of_layer), f"{rho:.3f}", f"{first['predicted']:.0f}", f"{first['measured']:.0f}", f"{spread:.2f}",
                      f"{first_over_best(of_layer):.3f}"])
    return f"\n## {rows[0]['device']} ({path.name})\n\n" + page.markdown(
        ["layer", "schedules", "rank correlation", "first choice: predicted us", "measured us", "spread (p90 - p10) / median", "over best"], lines)


def search_row(path):
    """The time of the best schedule that was timed over that of the search's first choice, without any tuning."""
    rows = read(path)
    layers = by_layer(rows)
    share = {name: min(r["measured"] for r in of) / next(r["measured"] for r in of if r["origin"] == "top") for name, of in layers.items()}
    low = ", ".join(f"{name} {value:.2f}" for name, value in share.items() if value < 0.85)
    return [f"{rows[0]['device']} ({path.name})", len(layers), len(rows), f"{geomean(share.values()):.3f}", low or "none"]


def choices_section(path):
    """Kernels of networks: by kind, the first choice over the best that tuning found, and its prediction over what it takes."""
    rows = list(csv.DictReader(line for line in path.open() if not line.startswith("#")))
    if not rows:
        return "nothing was measured\n"
    for row in rows:
        row["over_best"] = float(row["first_us"]) / float(row["best_us"])
        row["error"] = float(row["predicted_us"]) / float(row["first_us"])
    kinds = {"all": rows}
    for row in sorted(rows, key=lambda row: row["kind"]):
        kinds.setdefault(row["kind"], []).append(row)
    lines = []
    for kind, of in kinds.items():
        worst = max(of, key=lambda row: row["over_best"])
        spread = math.exp(statistics.fmean(abs(math.log(row["error"])) for row in of))
        lines.append([kind, len(of), sum(int(row["tried"]) for row in of), f"{geomean(row['over_best'] for row in of):.3f}",
                      f"{worst['over_best']:.2f} ({worst['kernel']} of {worst['network']}, {float(worst['first_us']):.1f} us)",
                      f"{geomean(row['error'] for row in of):.2f}", f"{spread:.2f}"])
    return f"\n{rows[0]['device']} ({path.name}):\n\n" + page.markdown(
        ["kind of kernel", "kernels", "tried", "first choice over best", "worst", "predicted over measured", "or the inverse"], lines)


def main():
    models = sorted(page.MEASUREMENTS.glob("model_*.csv"))
    text = page.markdown(["device", "layers", "schedules", "rank correlation", "predicted over measured, or the inverse: median",
                          "first choice over the best", "its worst layer"], map(device_row, models))
    text += "\n" + page.markdown(["device", "layers of networks", "schedules", "best timed over first choice, geometric mean", "layers below 0.85"],
                                 map(search_row, sorted(page.MEASUREMENTS.glob("search_*.csv"))))
    text += "".join(map(choices_section, sorted(page.MEASUREMENTS.glob("choices_*.csv"))))
    page.write_section("cost_model.md", "model_accuracy.py", text)
    page.write_section("measurements/model_accuracy.md", "model_accuracy.py", "".join(map(device_section, models)),
                       "# The cost model beside the clock, by layer\n\n`docs/cost_model.md` says what was measured and how.\n\n")


if __name__ == "__main__":
    main()
