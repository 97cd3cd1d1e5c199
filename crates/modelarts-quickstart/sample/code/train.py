"""Learns to distinguish leaves with rust from healthy ones: logistic regression, trained by
gradient descent, in plain Python.

ModelArts passes directories and hyper-parameters as arguments, and may add further arguments, so
unknown ones are ignored.
"""

import argparse
import csv
import json
import math
import pathlib


def read(path):
    """Returns the features and the labels of a CSV file, whose last column is the label."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [[float(cell) for cell in row[:-1]] for row in rows], [int(row[-1]) for row in rows]


def scaling(rows):
    """Returns mean and standard deviation of each feature, so that one learning rate fits all."""
    columns = list(zip(*rows))
    means = [sum(column) / len(column) for column in columns]
    spreads = [
        math.sqrt(sum((x - mean) ** 2 for x in column) / len(column)) or 1.0
        for column, mean in zip(columns, means)
    ]
    return means, spreads


def predict(model, row):
    """Returns the probability that a leaf has rust."""
    scaled = [(x - m) / s for x, m, s in zip(row, model["means"], model["spreads"])]
    z = model["bias"] + sum(w * x for w, x in zip(model["weights"], scaled))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_url", required=True, help="directory with train.csv and test.csv")
    parser.add_argument("--train_url", required=True, help="directory for the model")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--learning_rate", type=float, default=0.5)
    args, _ = parser.parse_known_args()

    data = pathlib.Path(args.data_url)
    rows, labels = read(data / "train.csv")
    means, spreads = scaling(rows)
    model = {"means": means, "spreads": spreads, "weights": [0.0] * len(means), "bias": 0.0}
    print(f"{len(rows)} rows, {len(means)} features", flush=True)

    for epoch in range(1, args.epochs + 1):
        gradient, bias, loss = [0.0] * len(means), 0.0, 0.0
        for row, label in zip(rows, labels):
            p = predict(model, row)
            loss -= math.log(p if label else 1 - p)
            error = p - label
            bias += error
            for i, x in enumerate(row):
                gradient[i] += error * (x - means[i]) / spreads[i]
        step = args.learning_rate / len(rows)
        model["weights"] = [w - step * g for w, g in zip(model["weights"], gradient)]
        model["bias"] -= step * bias
        print(f"epoch {epoch}/{args.epochs} loss {loss / len(rows):.4f}", flush=True)

    rows, labels = read(data / "test.csv")
    right = sum((predict(model, row) >= 0.5) == bool(label) for row, label in zip(rows, labels))
    metrics = {"accuracy": right / len(rows), "test_rows": len(rows)}
    print(f"accuracy {metrics['accuracy']:.4f} on {len(rows)} rows", flush=True)

    target = pathlib.Path(args.train_url)
    (target / "model.json").write_text(json.dumps(model, indent=2))
    (target / "metrics.json").write_text(json.dumps(metrics, indent=2))


if __name__ == "__main__":
    main()
