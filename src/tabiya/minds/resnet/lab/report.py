"""The last stage: one record of an experiment, out of its manifests, games and exams."""

from __future__ import annotations

from tabiya.learn.lab.exams import answers
from tabiya.learn.lab.folder import LabFolder, Record
from tabiya.learn.lab.record import Manifest, comparison_record, validation
from tabiya.learn.lab.standings import Row
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.lab.play import kinds
from tabiya.minds.resnet.lab.variants import Variant, comparison
from tabiya.reports.lab_plot import plot_lab
from tabiya.reports.lab_table import markdown


def write_report(lab: Lab, folder: LabFolder) -> Record:
    """Make report.json and report.md, and report.png where matplotlib is installed; the record."""

    def own_row(variant: Variant, manifest: Manifest) -> Row:
        return {
            "differs": variant.differs,
            "validation": validation(manifest),
            "exams": answers(folder, variant.name, kinds(lab)),
        }

    record = comparison_record(lab, folder, comparison(lab), own_row)
    record["budget"]["positions"] = lab.budget.positions
    return folder.write_report(record, markdown, plot_lab)
