//! The names, bounds and spreads of all that a genome holds: one table, and nothing else.
//!
//! The order of genes and properties is that of a written genome. Whoever
//! reads, writes, scores or mutates a genome asks this table.

/// One number of a gene.
pub struct Property {
    pub name: &'static str,
    /// Mutations bounce off this bound, and a file may not go below it.
    pub low: f64,
    pub high: f64,
    pub start: Start,
    /// The usual deviation of a mutation's step (`breed` makes it smaller or larger by chance).
    pub step: Step,
    /// What a file means that leaves the property out; such a value is not written either.
    pub default: Option<f64>,
    pub whole: bool,
}

/// How a mutation changes a number.
pub enum Step {
    Add(f64),
    /// In powers of ten, for numbers whose order of magnitude is what matters.
    Multiply(f64),
}

/// Where a random genome's number comes from.
pub enum Start {
    /// A normal distribution: mean and deviation.
    Normal(f64, f64),
    /// Any order of magnitude and either sign: the median size, and the deviation in powers of ten.
    Broad(f64, f64),
}

use Start::{Broad, Normal};
use Step::{Add, Multiply};

pub struct Gene {
    pub name: &'static str,
    /// In alphabetical order.
    pub properties: &'static [Property],
}

const FREE: f64 = 1e6;

const fn real(name: &'static str, low: f64, start: Start, step: f64) -> Property {
    Property { name, low, high: FREE, start, step: Add(step), default: None, whole: false }
}

const fn piece(name: &'static str) -> Property {
    real(name, -FREE, Normal(0.0, 5.0), 1.0)
}

/// What is worth a look may be worth a hundred-thousandth of another: a step by a fixed amount would miss it.
const fn speculation(name: &'static str) -> Property {
    let step = Multiply(0.3);
    Property { name, low: 0.0, high: FREE, start: Broad(0.1, 1.0), step, default: None, whole: false }
}

/// A scoring gene's weight, which may turn its score into its contrary.
///
/// All priorities start and step alike; what they are worth differs by a factor of a hundred.
const PRIORITY: Property = real("Priority", -FREE, Broad(10.0, 0.5), 30.0);
/// For genes whose other numbers already carry a sign.
const POSITIVE_PRIORITY: Property = real("Priority", 0.0, Broad(10.0, 0.5), 30.0);
const EXPONENT: Property = Property {
    name: "Exponent",
    low: 0.0,
    high: 20.0,
    start: Normal(1.0, 0.0),
    step: Add(0.05),
    default: Some(1.0),
    whole: false,
};
const PLAIN: &[Property] = &[EXPONENT, PRIORITY];

pub const GENES: [Gene; 14] = [
    Gene {
        name: "Piece Strength Gene",
        properties: &[piece("B"), piece("K"), piece("N"), piece("P"), piece("Q"), piece("R")],
    },
    Gene {
        name: "Look Ahead Gene",
        properties: &[
            real("Game Length Uncertainty", 0.01, Normal(0.5, 0.2), 0.05),
            real("Mean Game Length", 1.0, Normal(50.0, 20.0), 3.0),
            speculation("Speculation-Can Capture"),
            speculation("Speculation-Default"),
            speculation("Speculation-Just Captured"),
            speculation("Speculation-Recapture"),
        ],
    },
    Gene { name: "Total Force Gene", properties: &[EXPONENT, POSITIVE_PRIORITY] },
    Gene { name: "Freedom to Move Gene", properties: PLAIN },
    Gene {
        name: "Pawn Advancement Gene",
        properties: &[EXPONENT, real("Non-linearity", -10.0, Normal(0.0, 0.5), 0.1), PRIORITY],
    },
    Gene { name: "Passed Pawn Gene", properties: PLAIN },
    Gene { name: "Opponent Pieces Targeted Gene", properties: PLAIN },
    Gene {
        name: "Sphere of Influence Gene",
        properties: &[
            EXPONENT,
            real("Illegal Square Score", -FREE, Normal(0.0, 1.0), 0.2),
            real("King Target Factor", -FREE, Normal(0.0, 1.0), 0.2),
            real("Legal Square Score", -FREE, Normal(0.0, 1.0), 0.2),
            POSITIVE_PRIORITY,
        ],
    },
    Gene {
        name: "King Confinement Gene",
        properties: &[
            real("Enemy Block Score", -FREE, Normal(0.0, 1.0), 0.2),
            EXPONENT,
            real("Friendly Block Score", -FREE, Normal(0.0, 1.0), 0.2),
            Property {
                name: "Maximum Distance",
                low: 0.0,
                high: 7.0,
                start: Normal(2.0, 1.0),
                step: Add(1.0),
                default: None,
                whole: true,
            },
            POSITIVE_PRIORITY,
        ],
    },
    Gene { name: "King Protection Gene", properties: PLAIN },
    Gene {
        name: "Castling Possible Gene",
        properties: &[
            EXPONENT,
            real("Kingside Preference", -FREE, Normal(0.0, 1.0), 0.2),
            POSITIVE_PRIORITY,
            real("Queenside Preference", -FREE, Normal(0.0, 1.0), 0.2),
        ],
    },
    Gene { name: "Stacked Pawns Gene", properties: PLAIN },
    Gene { name: "Pawn Islands Gene", properties: PLAIN },
    Gene { name: "Checkmate Material Gene", properties: PLAIN },
];

/// The first two regulate; the others score.
pub const REGULATORY: usize = 2;

pub const SCORING_GENES: usize = GENES.len() - REGULATORY;

pub fn gene_number(name: &str) -> Option<usize> {
    GENES.iter().position(|gene| gene.name == name)
}

/// The known name nearest to a misspelt one, if it is near enough to be meant.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    known
        .map(|name| (edits(&wrong, &name.to_lowercase()), name))
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .map(|(_, name)| name)
}

/// Levenshtein's distance of two short words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (corner + usize::from(x != *y)).min(above + 1).min(row[j] + 1);
            corner = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_stand_in_alphabetical_order() {
        for gene in &GENES {
            assert!(gene.properties.is_sorted_by_key(|property| property.name), "{}", gene.name);
        }
    }

    #[test]
    fn only_a_near_name_is_suggested() {
        let names = || GENES.iter().map(|gene| gene.name);
        assert_eq!(nearest("total forse gene", names()), Some("Total Force Gene"));
        assert_eq!(nearest("Opening Book", names()), None);
    }
}
