"""Questions of the demo about means: what a device sends, the mean by every mechanism, and why the answers differ."""

import numpy as np

import discreet
from discreet import plots
from discreet.arrays import AnyArray
from discreet.demo.run import Demo
from discreet.domains import Interval
from discreet.mechanisms.comparison import EPSILONS, worst_case_variances
from discreet.mechanisms.registry import entries, mechanism
from discreet.plans.answers import NumberAnswer
from discreet.privacy.entropy import Entropy
from discreet.report import Column, Row, Section
from discreet.text import format_number, thousands

WAGE = Interval(0, 500_000)
DAY = Interval(0, 1440)


def what_leaves(demo: Demo) -> Section:
    """Show six people: what they hold, and what they send."""
    demo.doing("What leaves the device")
    wages = demo.data("income_cps", "wage")[:6]
    few = [source for source in demo.ranked if 2 < source.alphabet <= 16]  # few enough to read all their probabilities
    sources = [mechanism("duchi", demo.epsilon), (few or demo.ranked)[0]]
    sent = [
        source.privatize(WAGE.encode(wages).inputs, Entropy.seeded(demo.seed_for("device", source.name)))
        for source in sources
    ]
    section = Section(
        "device",
        "What leaves the device",
        "Six people, what each of them earns, and everything the collector receives from them. A report is a small "
        "whole number. It stands for an amount that is right on average and says very little about any one person.",
        [Column("Person", is_number=False), Column("Wage (stays)")],
    )
    for source in sources:
        section.columns = [
            *section.columns,
            Column(f"{source.name} sends", on_phone=source is sources[0]),
            Column("which stands for", on_phone=source is sources[0]),
        ]
    for i, wage in enumerate(wages.tolist()):
        cells = [str(i + 1), thousands(wage)]
        for source, reports in zip(sources, sent, strict=True):
            cells += [str(reports[i]), thousands(WAGE.decode(float(source.values[reports[i]]))).replace("-", "−")]
        section.rows.append(Row(tuple(cells)))
    section.notes.append(
        f"With ε = {demo.epsilon:g}, no report is more than {np.exp(demo.epsilon):.3g} times as likely from one wage "
        "as from another."
    )
    demo.picture(
        section,
        f"Every report that {sources[-1].name} can send and how likely it is, from the smallest wage (−1) to the "
        "largest (1). A wage in between is first rounded to a neighbour at random.",
        lambda: plots.channel(sources[-1]),
    )
    section.facts = {
        "wages": wages.tolist(),
        "reports": {source.name: reports.tolist() for source, reports in zip(sources, sent, strict=True)},
    }
    return section


def mean_wage(demo: Demo) -> Section:
    """Ask for the mean wage by every mechanism for means."""
    wages = demo.data("income_cps", "wage")
    section = mean_section(
        demo, "mean-wage", "Mean wage, by every method", "mean yearly wage (US dollars)", wages, WAGE
    )
    section.lead = (
        f"{thousands(len(wages))} heads of US tax units and their yearly wage in dollars, within 0 … 500 000. "
        "Each sends one private report. The mean of the reports by mechanism, the most precise first."
    )
    beyond = int((wages > WAGE.high).sum())
    section.notes.insert(
        0,
        f"{thousands(beyond)} wages ({100 * beyond / len(wages):.2f} %) are above 500 000 and count as 500 000. The "
        f"mean without that limit is {thousands(float(wages.mean()))}. No method can see beyond the limit, so choose "
        "it before you ask.",
    )
    return section


def mean_departure(demo: Demo) -> Section:
    """Ask for the mean minute of departure by every mechanism for means."""
    minutes = demo.data("flights_nyc13", "dep_minute")
    section = mean_section(
        demo, "mean-departure", "Mean time of departure, by every method", "minutes since midnight", minutes, DAY
    )
    truth = float(minutes.mean())
    section.lead = (
        f"{thousands(len(minutes))} flights that left New York City in 2013. Each reports its minute of departure "
        "privately, within 0 … 1440. All values are within the limits, so none is clipped."
    )
    section.notes.insert(0, f"The truth, {truth:.1f} minutes since midnight, is {truth // 60:.0f}:{truth % 60:02.0f}.")
    return section


def mean_section(demo: Demo, key: str, title: str, what: str, values: AnyArray, domain: Interval) -> Section:
    """Ask for one mean by every registered mechanism for means, and show the answers beside the truth."""
    inside = np.clip(values.astype(np.float64), domain.low, domain.high)
    truth = float(inside.mean())
    answers: list[tuple[str, NumberAnswer]] = []
    for source in demo.ranked:
        demo.doing(f"{title}: {source.name}")
        plan = discreet.Mean(domain, epsilon=demo.epsilon, method=source.name)
        answers.append((source.name, discreet.simulate(plan, values, seed=demo.seed_for(key, source.name))))
    section = Section(
        key,
        title,
        "",
        [
            Column("Mechanism", is_number=False),
            Column("Estimate"),
            Column("95 % interval"),
            Column("Off by", on_phone=False),
            Column("Truth inside", is_number=False),
        ],
    )
    section.rows.append(Row(("the truth", format_number(truth, answers[0][1].margin), "", "", ""), is_truth=True))
    held = 0
    for name, answer in answers:
        held += holds(answer, truth)
        section.rows.append(
            Row(
                (
                    name,
                    format_number(answer.value, answer.margin),
                    f"± {format_number(answer.margin, answer.margin)}",
                    signed(answer.value - truth, answer.margin),
                    "yes" if holds(answer, truth) else "no",
                )
            )
        )
    section.notes.append(
        f"{held} of {len(answers)} intervals contain the truth; about one in twenty is expected to miss it. "
        "Use another --seed for different noise."
    )
    section.facts = {
        "n": len(values),
        "truth": truth,
        "clipped": int((values > domain.high).sum() + (values < domain.low).sum()),
        "estimates": [answer.to_dict() | {"holds_truth": holds(answer, truth)} for _, answer in answers],
    }
    caption = f"{title}: estimate and 95 % interval of each mechanism, beside the truth. A hollow mark misses it."
    demo.picture(section, caption, lambda: plots.estimates(answers, truth, what=what))
    return section


def exact_limits(demo: Demo) -> Section:
    """Show why the answers differ: the exact privacy and variance of each mechanism."""
    demo.doing("Exact variances")
    section = Section(
        "exact",
        "The methods, and why their answers differ",
        "Nothing here is measured. A mechanism is a finite table of whole numbers, so its privacy and its variance are "
        "computed exactly. The variance is that of one report for inputs from −1 to 1, at the worst input.",
        [
            Column("Mechanism", is_number=False),
            Column("ε in reserve", on_phone=False),
            Column("Bits"),
            Column("Worst-case variance"),
            Column("False report", on_phone=False),
            Column("What it is", is_number=False, on_phone=False),
        ],
    )
    for source in demo.ranked:
        certificate = source.certificate
        cells = (
            f"{source.epsilon - certificate.epsilon:.0e}",
            f"{source.average_bits:.3g}",
            f"{source.worst_case_variance:.4g}",
        )
        what = entries()[source.name].summary.replace("`", "")
        section.rows.append(Row((source.name, *cells, f"× {source.influence:.3g}", what)))
    section.notes += [
        "ε in reserve: the claimed ε minus the exact ε. It is never negative, because a mechanism above its claim is "
        "refused.",
        "Bits: the average size of a report. False report: how many honest people one liar can outweigh.",
    ]
    section.facts = {"mechanisms": [source.describe() for source in demo.ranked]}
    demo.picture(
        section,
        f"Exact variance of one report over the inputs, ε = {demo.epsilon:g}, for the eight best mechanisms. A flat "
        "curve is equally precise for everyone.",
        lambda: plots.variance_curves(demo.ranked[:8]),
    )
    demo.doing("Variances against ε")
    demo.picture(
        section,
        "Worst-case variance against ε, relative to the smallest: which mechanism is best depends on ε.",
        lambda: plots.worst_case_variance(worst_case_variances(EPSILONS), EPSILONS, relative=True),
    )
    return section


def holds(answer: NumberAnswer, truth: float) -> bool:
    """Return whether the interval contains the truth."""
    return answer.interval[0] <= truth <= answer.interval[1]


def signed(number: float, margin: float) -> str:
    """Write a number with its sign, and with as many digits as its margin justifies."""
    return ("+" if number >= 0 else "−") + format_number(abs(number), margin)
