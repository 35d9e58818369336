#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rewrites the measured section of docs/cost_model.md from what bench_model_accuracy printed.

    bench/model_accuracy.py

Reads docs/measurements/model_*.csv and search_*.csv, each one device. Of the former it reports the rank correlation of
predicted and measured time, overall and per layer, and the time of the model's first choice over the best of the random
schedules and itself; of the latter, layers of networks, the best of all that were timed as a share of the first choice.
"""
import csv
import math
import pathlib
import statistics

import page

ROOT = pathlib.Path(__file__).resolve().parent.parent


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


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def first_over_best(rows):
    """The model's first choice against the best of the random schedules and itself."""
    first = next(r["measured"] for r in rows if r["origin"] == "top")
    return first / min([first] + [r["measured"] for r in rows if r["origin"] == "sample"])


def read(path):
    rows = list(csv.DictReader(path.open()))
    for row in rows:
        row["predicted"], row["measured"] = float(row["predicted_us"]), float(row["measured_us"])
    return rows


def device_section(path):
    rows = read(path)
    layers = {}
    for row in rows:
        layers.setdefault(row["layer"], []).append(row)
    lines, losses = [], []
    for name, of_layer in layers.items():
        rho = spearman([(r["predicted"], r["measured"]) for r in of_layer])
        first = next(r for r in of_layer if r["origin"] == "top")
        losses.append(first_over_best(of_layer))
        spread = (float(first["p90_us"]) - float(first["p10_us"])) / first["measured"]
        lines.append(f"| {name} | {len(of_layer)} | {rho:.3f} | {first['predicted']:.0f} | {first['measured']:.0f} | {spread:.2f} | {losses[-1]:.3f} |")
    overall = spearman([(r["predicted"], r["measured"]) for r in rows])
    return (f"\n### {rows[0]['device']} ({path.name})\n\n"
            f"{len(rows)} pairs of layer and schedule, rank correlation {overall:.3f}; first choice over the best of the random "
            f"schedules and itself {geomean(losses):.3f} (geometric mean).\n\n"
            "| layer | schedules | rank correlation | first choice: predicted us | measured us | spread (p90 - p10) / median | over best |\n"
            "|---|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n")


def search_section(paths):
    """The time of the best schedule that was timed over that of the search's first choice, without any tuning."""
    text = ("\n### The search's choice beside the best that was timed\n\n"
            "| device | layers | schedules | best over choice, geometric mean | layers below 0.85 |\n|---|---|---|---|---|\n")
    for path in paths:
        rows, layers = read(path), {}
        for row in rows:
            layers.setdefault(row["layer"], []).append(row)
        share = {name: min(r["measured"] for r in of) / next(r["measured"] for r in of if r["origin"] == "top")
                 for name, of in layers.items()}
        low = ", ".join(f"{name} {value:.2f}" for name, value in share.items() if value < 0.85)
        text += (f"| {rows[0]['device']} ({path.name}) | {len(layers)} | {len(rows)} "
                 f"| {geomean(share.values()):.3f} | {low or 'none'} |\n")
    return text


def main():
    folder = ROOT / "docs/measurements"
    text = "".join(map(device_section, sorted(folder.glob("model_*.csv"))))
    page.write_section("cost_model.md", "model_accuracy.py", text + search_section(sorted(folder.glob("search_*.csv"))))


if __name__ == "__main__":
    main()
