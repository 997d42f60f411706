"""Tables of medians and ratios from the results."""

import json
import statistics
from collections import defaultdict

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def load(path):
    """Values by row and system, in the order in which rows first came; units by row."""
    values, cpu, units = defaultdict(lambda: defaultdict(list)), defaultdict(lambda: defaultdict(list)), {}
    with open(path) as file:
        for text in file:
            line = json.loads(text)
            if line["value"] is None:
                values[line["row"]][line["system"]].append(None)
                units.setdefault(line["row"], "")
                continue
            units[line["row"]] = line["unit"]
            values[line["row"]][line["system"]].append(line["value"])
            if line.get("daemon_cpu") is not None:
                cpu[line["row"]][line["system"]].append(line["daemon_cpu"])
    return values, cpu, units


def median(list_of_values):
    present = [value for value in list_of_values if value is not None]
    return statistics.median(present) if present else None


def advantage(unit, ours, theirs):
    """How many times better we are: above 1 is better, whatever the unit."""
    if ours is None or theirs is None or ours <= 0 or theirs <= 0:
        return None
    return theirs / ours if unit in ("s", "MiB") else ours / theirs


def figure(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def tables(path):
    values, cpu, units = load(path)
    names = list(dict.fromkeys(system for row in values.values() for system in row))
    peers = [name for name in names if name not in ("ext4", "passthrough", "coffre")]
    lines = ["| | unit | " + " | ".join(names) + " | / passthrough | / gocryptfs | / best peer | spread |",
             "| --- " * (len(names) + 6) + "|"]
    for row, found in values.items():
        unit = units[row]
        medians = {name: median(found.get(name, [])) for name in names}
        ours = medians.get("coffre")
        ratios = {name: advantage(unit, ours, medians.get(name)) for name in names}
        best = min((ratios[name] for name in peers if ratios[name] is not None), default=None)
        own = [value for value in found.get("coffre", []) if value is not None]
        spread = f"±{(max(own) - min(own)) / 2 / ours * 100:.0f} %" if ours and len(own) > 1 else "-"
        lines.append("| " + " | ".join(
            [row, unit] + [figure(medians[name]) for name in names]
            + [figure(ratios.get("passthrough")), figure(ratios.get("gocryptfs")), figure(best), spread]) + " |")
    lines += ["", "CPU seconds of the daemon:", "",
              "| | " + " | ".join(name for name in names if name != "ext4") + " | gocryptfs / coffre |",
              "| --- " * (len(names) + 1) + "|"]
    for row, found in cpu.items():
        medians = {name: median(found.get(name, [])) for name in names if name != "ext4"}
        ratio = advantage("s", medians.get("coffre"), medians.get("gocryptfs"))
        lines.append("| " + " | ".join([row] + [figure(value) for value in medians.values()] + [figure(ratio)]) + " |")
    return "\n".join(lines)


def write_into(path, text):
    """Puts the tables between the two marks of a document."""
    with open(path) as file:
        document = file.read()
    before, rest = document.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    with open(path, "w") as file:
        file.write(before + BEGIN + "\n\n" + text + "\n\n" + END + after)
