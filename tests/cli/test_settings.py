"""Every setting is listed, and each listed default can be set."""

from __future__ import annotations

import json

from gaug.runs.plan import Plan


def test_each_listed_setting_can_be_set_to_its_default(gaug):
    rows = json.loads(gaug("settings", "--json").out)
    assert len(rows) > 30
    for row in rows:
        kind, _, name = row["group"].partition(" ")
        assignment = f"{row['name']}={row['default']}"
        if kind == "--model":
            Plan.of("karate", model=name, settings=[assignment])
        elif kind == "--method":
            Plan.of("karate", method=name, settings=[assignment])
        elif kind.startswith("predictor="):
            Plan.of("karate", method="gaug-m", settings=[kind, assignment])
        else:
            Plan.of("karate", settings=[assignment])


def test_the_table_names_defaults_and_ranges(gaug):
    out = gaug("settings").out
    assert "learning_rate" in out
    assert "in [0, 0.99]" in out


def test_one_group_alone(gaug):
    rows = json.loads(gaug("settings", "dropedge", "--json").out)
    assert {row["group"] for row in rows} == {"--method dropedge"}
    assert {row["group"] for row in json.loads(gaug("settings", "split", "--json").out)} == {
        "--split"
    }
    both = json.loads(gaug("settings", "gaug-m+dropedge", "--json").out)
    assert {"add_fraction", "drop_fraction"} < {row["name"] for row in both}
    assert "gaug-m+dropedge" not in gaug("settings").out
    result = gaug("settings", "dropedges")
    assert result.code == 2
    assert "Unknown group of settings 'dropedges'" in result.err
    assert "Did you mean 'dropedge'?" in result.err
