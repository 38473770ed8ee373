"""The comparison paper's conclusions, each with our finding and a verdict."""

from typing import Any

from discreet_papers.discrete import study
from discreet_papers.verdicts import FAILS, HOLDS, WRONG, Claims, claim


def claims(result: dict[str, Any]) -> Claims:
    """Return every claim that the results can judge."""
    found: Claims = _at_equal_epsilon(result) + _figures(result)
    if result["data"]["is_the_papers"]:
        found = _columns(result) + found + _census()
    return found


def _columns(result: dict[str, Any]) -> Claims:
    found: Claims = []
    notes = {
        "k-RR": "as the text says; the other columns have weaker post-processing",
        "bRAPPOR": f"the constants have ε = {result['constants']['rappor_epsilon']:.4f} whichever ε is requested",
        "CMS": "the printed factor must use e^(ε/2), and the printed estimate must be divided by n",
        "k-subset": "k is not given; this one is optimal only as ε goes to 0",
        "HR": "its authors' code plans for more blocks than it uses, and is biased there",
    }
    for column in result["columns"]:
        other, far = min(column["others"].items(), key=lambda item: item[1])
        found.append(
            claim(
                f"Tables II–IV, {column['column']}",
                "18 printed means",
                f"{column['fits']}: rms z = {column['rms_z']:.2f} (next: {other}, {far:.2f})",
                column["verdict"],
                notes[column["column"]],
            )
        )
    return found


def _cells(result: dict[str, Any], epsilon: float) -> list[dict[str, Any]]:
    return [cell for cell in result["equal"] if cell["epsilon"] == epsilon]


def _count(cells: list[dict[str, Any]], label: str, post: str, among: tuple[str, ...] | None = None) -> int:
    return sum(study.best_or_tied(cell, label, post, among) for cell in cells)


def _excess(cells: list[dict[str, Any]], label: str, than: str, post: str) -> tuple[float, float]:
    """Return how much larger one oracle's mean error is than another's, in per cent: least and largest."""
    ratios = [100 * (c["oracles"][label][post]["mean"] / c["oracles"][than][post]["mean"] - 1) for c in cells]
    return min(ratios), max(ratios)


def _at_equal_epsilon(result: dict[str, Any]) -> Claims:
    high, medium, low = (_cells(result, epsilon) for epsilon in study.EPSILONS)
    everything = result["equal"]
    constants = result["constants"]
    name, own = "Basic RAPPOR", study.PAPERS_OWN
    raw, mended = (_count(high, name, post, own) for post in ("raw", "norm_sub"))
    least, most = _excess(high, name, "k-subset", "raw")
    strict = sum(study.strictly_best(cell, name, post, own) for cell in high for post in ("raw", "norm_sub"))
    found = [
        claim(
            "Table II, abstract, IV",
            "Basic RAPPOR is best at high privacy (ε = 0.5)",
            f"at equal ε best or tied in {raw} of {len(high)} raw, in {mended} of {len(high)} after Norm-Sub, "
            f"strictly best in {strict}; raw error {least:.0f} to {most:.0f} % above k-subset's",
            FAILS if strict else WRONG,
            f"the column compares ε = {constants['rappor_epsilon']:.4f} with ε = 0.5: its constants do not depend on ε",
        )
    ]
    counted = _count(low, "k-RR", "raw", own)
    least, most = _excess(low, "k-RR", "k-subset", "raw")
    losers = [cell["attribute"] for cell in low if not study.best_or_tied(cell, "k-RR", "raw", own)]
    found.append(
        claim(
            "Table IV, abstract, IV",
            "k-RR is best at low privacy (ε = 2)",
            f"best or tied in {counted} of {len(low)} raw at equal ε; "
            f"error {least:+.0f} to {most:+.0f} % from k-subset's",
            not losers,
            "k-RR is k-subset with k = 1, the best k only for few values"
            + (f": not for {', '.join(losers)}" if losers else "")
            + "; as published, the other columns have weaker post-processing, k-subset the wrong k, RAPPOR a smaller ε",
        )
    )
    few = [cell for cell in medium if cell["n"] < 1000] or medium
    counted = _count(few, "k-RR", "raw", own)
    found.append(
        claim(
            "Table III, III.B",
            "at ε = 1 k-RR is best for small data sets",
            f"best or tied in {counted} of {len(few)} raw at equal ε",
            counted == len(few),
            "the number of values matters, not the number of people: all raw variances fall as 1/n",
        )
    )
    seen = _count(everything, "k-subset", "raw")
    plain = sum(study.best_or_tied(cell, "k-subset", "raw", by_law=False) for cell in everything)
    variances = constants["oracle_variance"].values()
    exact = sum(cell["k-subset"] <= min(cell.values()) * (1 + 1e-6) for cell in variances)
    found.append(
        claim(
            "not in the paper",
            "(ours) k-subset with the optimal k is best or tied, raw",
            f"in {seen} of {len(everything)} cells by simulation (within {study.TIE:g} s.e.; in {plain} if the noise "
            f"between identical channels counts too), in {exact} of {len(everything)} by exact mean variance",
            seen == exact == len(everything),
            "the paper ran it with k = ⌊d/2⌋, which costs up to "
            f"{max(cell['variance_ratio'] for cell in constants['subset']):.1f} times the variance",
        )
    )
    shrinkage = constants["cms_shrinkage"]
    found.append(
        claim(
            "II.E",
            "CMS decodes with c = (e^ε + 1)/(e^ε − 1)",
            "E f̂ = r f + (1 − r)/2 with r = " + ", ".join(f"{r:.2f} (ε = {e})" for e, r in shrinkage.items()),
            WRONG if min(shrinkage.values()) < 0.999 else HOLDS,
            "biased by up to (1 − r)/2 for rare values; with e^(ε/2) it is unbiased and equals Basic RAPPOR at ε",
        )
    )
    wrong = [cell for cell in constants["hadamard"] if cell["blocks_used"] < cell["blocks_planned"]]
    if wrong:
        worst = max(wrong, key=lambda cell: cell["epsilon"] - cell["real_epsilon"])
        found.append(
            claim(
                "Tables II–IV, HR",
                "HR as in its public code",
                f"{len(wrong)} of {len(constants['hadamard'])} cells use fewer blocks than they are calibrated for; "
                f"{worst['attribute']} at ε = {worst['epsilon']:g} really has ε = {worst['real_epsilon']:.3f}",
                WRONG,
                "private, but biased: an error of the public code, not of Hadamard response",
            )
        )
    return found


def winners(result: dict[str, Any], figure: str, epsilon: float, kind: str = "published") -> dict[str, int]:
    """Return for each curve the number of points of a panel where it is lowest."""
    found: dict[str, int] = {}
    for cell in result["figures"]:
        if cell["figure"] == figure and cell["epsilon"] == epsilon:
            errors = {
                name: (curve if kind == "published" else curve["norm_sub"])["mean"]
                for name, curve in cell[kind].items()
            }
            best = min(errors, key=lambda name: errors[name])
            found[best] = found.get(best, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _figures(result: dict[str, Any]) -> Claims:
    told = {
        "2": ("bRAPPOR", "small data, d = 20"),
        "3": ("HR", "small data, d = 100"),
        "4": ("k-subset", "large data, d = 100"),
        "5": ("bRAPPOR", "large data, d = 500"),
    }
    found: Claims = []
    for figure, (expected, what) in told.items():
        seen = winners(result, figure, 0.5)
        points = sum(seen.values())
        fair = winners(result, figure, 0.5, "equal")
        found.append(
            claim(
                f"Figure {figure}a",
                f"{expected} is lowest at ε = 0.5 ({what})",
                f"as published {_told(seen, points)}; at equal ε with Norm-Sub {_told(fair, points)}",
                next(iter(seen)) == expected,
                "the ratio of the geometric distribution is not given (0.8 here), nor the post-processing"
                if next(iter(seen)) != expected
                else "but only because RAPPOR's constants use more than twice the ε",
            )
        )
    panels = (
        (1.0, "2b–5b", "k-RR, k-subset and HR generally give the best estimates at ε = 1", ("k-RR", "k-subset", "HR")),
        (2.0, "2c–5c", "k-RR generally has the highest accuracy at ε = 2", ("k-RR",)),
    )
    for epsilon, where, said, named in panels:
        seen, fair = (_all_winners(result, epsilon, kind) for kind in ("published", "equal"))
        points = sum(seen.values())
        found.append(
            claim(
                f"Figures {where}",
                said,
                f"as published {_told(seen, points)}; at equal ε with Norm-Sub {_told(fair, points)}",
                2 * sum(seen.get(name, 0) for name in named) > points,
                "every column has its own post-processing, and only k-RR maximum likelihood",
            )
        )
    return found


def _all_winners(result: dict[str, Any], epsilon: float, kind: str) -> dict[str, int]:
    """Return `winners` summed over all figures."""
    found: dict[str, int] = {}
    for figure in study.FIGURES:
        for name, count in winners(result, figure, epsilon, kind).items():
            found[name] = found.get(name, 0) + count
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _told(seen: dict[str, int], points: int) -> str:
    return ", ".join(f"{name} in {count}" for name, count in seen.items()) + f" of {points} points"


def _census() -> Claims:
    told = ", ".join(f"{name} {printed} = 1/{size}" for name, (size, printed) in study.CENSUS_SIZES.items())
    close = all(abs(round(1 / size, 3) - printed) < 1e-9 for size, printed in study.CENSUS_SIZES.values())
    return [
        claim(
            "Tables II–IV, USCensus1990",
            "bRAPPOR's MAE on Race and PoB, at every ε and without spread",
            f"not run (the file is not available); {told}",
            WRONG if close else FAILS,
            "1/d is the error of an estimate that is zero everywhere: a fault of the run, not of the mechanism",
        )
    ]
