//! New genomes: out of chance, and out of two parents with a few mutations.
//!
//! Everything hangs on the seed handed in, so that a pool can be evolved again.

use std::f64::consts::TAU;

use super::genome::Genome;
use super::schema::{GENES, Property, Start, Step};
use crate::playout::Random;

/// Genes of a newborn that are mutated, on average.
const MUTATIONS: usize = 2;

/// A genome of random numbers.
pub fn random(id: u64, seed: u64) -> Genome {
    let mut chance = Random::new(seed);
    let values = std::array::from_fn(|at| {
        let draw = |property: &Property| {
            let value = match property.start {
                Start::Normal(mean, deviation) => mean + deviation * normal(&mut chance),
                Start::Broad(median, decades) => {
                    let sign = if chance.below(2) == 0 { 1.0 } else { -1.0 };
                    sign * median * 10f64.powf(decades * normal(&mut chance))
                }
            };
            settled(property, value)
        };
        GENES[at].properties.iter().map(draw).collect()
    });
    Genome { id, parents: None, values }
}

/// Each gene from either parent with the same chance, then two of the genes mutated on average.
///
/// Without a second parent, the first mates with a random genome.
pub fn child(id: u64, first: &Genome, second: Option<&Genome>, seed: u64) -> Genome {
    let mut chance = Random::new(seed);
    let stranger;
    let (other, name) = match second {
        Some(genome) => (genome, genome.id.to_string()),
        None => {
            stranger = random(0, chance.draw());
            (&stranger, "random".to_string())
        }
    };
    let mut values = std::array::from_fn(|at| {
        if chance.below(2) == 0 { &first.values[at] } else { &other.values[at] }.clone()
    });
    for (gene, values) in GENES.iter().zip(&mut values) {
        if chance.below(GENES.len()) < MUTATIONS {
            let at = chance.below(gene.properties.len());
            let property = &gene.properties[at];
            let (value, by) = (values[at], step(&mut chance));
            let mutated = match property.step {
                Step::Add(size) => value + size * by,
                Step::Multiply(decades) => value * 10f64.powf(decades * by),
            };
            values[at] = settled(property, mutated);
        }
    }
    Genome { id, parents: Some(format!("{} {name}", first.id)), values }
}

/// A mutation's step in units of its usual size: normal, but a tenth to ten times as wide, so that
/// some mutations explore and others tune.
fn step(chance: &mut Random) -> f64 {
    let decades = 2.0 * unit(chance) - 1.0;
    10f64.powf(decades) * normal(chance)
}

/// A value within its bounds, off which it bounces, and as short as six digits.
fn settled(property: &Property, value: f64) -> f64 {
    let value = if value < property.low { 2.0 * property.low - value } else { value };
    let value = if value > property.high { 2.0 * property.high - value } else { value };
    let value = value.clamp(property.low, property.high);
    if property.whole {
        return value.round();
    }
    format!("{value:.5e}").parse().expect("a number was written")
}

/// A number from the standard normal distribution.
fn normal(chance: &mut Random) -> f64 {
    (-2.0 * unit(chance).ln()).sqrt() * (TAU * unit(chance)).cos()
}

/// Above 0, so that its logarithm is finite, and at most 1.
fn unit(chance: &mut Random) -> f64 {
    ((chance.draw() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_genome_survives_its_text() {
        for seed in 0..50 {
            let genome = random(seed, seed);
            assert_eq!(Genome::parse(&genome.text()).unwrap(), genome);
        }
    }

    #[test]
    fn a_child_has_its_parents_genes_but_for_two_mutations_on_average() {
        let (first, second) = (random(1, 1), random(2, 2));
        let mut mutated = 0;
        for seed in 0..1000 {
            let child = child(3, &first, Some(&second), seed);
            assert_eq!(child.parents.as_deref(), Some("1 2"));
            for at in 0..GENES.len() {
                mutated += usize::from(
                    child.values[at] != first.values[at] && child.values[at] != second.values[at],
                );
            }
        }
        // A whole-numbered property may mutate to itself, and a coin flip may hide nothing.
        assert!((1850..=2100).contains(&mutated), "{mutated} mutations in 1000 children");
    }

    #[test]
    fn a_speculation_constant_mutates_by_its_own_measure_and_never_to_nothing() {
        let gene = crate::genetic::schema::gene_number("Look Ahead Gene").unwrap();
        let at = GENES[gene].properties.iter().position(|each| each.name == "Speculation-Recapture").unwrap();
        let mut parent = random(1, 1);
        parent.values[gene][at] = 1e-5;
        let (mut mutated, mut near) = (0, 0);
        for seed in 0..20_000 {
            let value = child(2, &parent, Some(&parent), seed).values[gene][at];
            assert!(value > 0.0);
            mutated += usize::from(value != 1e-5);
            near += usize::from(value != 1e-5 && (1e-6..1e-4).contains(&value));
        }
        assert!(mutated > 300 && near * 2 > mutated, "{near} of {mutated}");
    }

    #[test]
    fn mutations_stay_within_the_bounds() {
        let mut genome = random(1, 1);
        for seed in 0..5000 {
            genome = child(1, &genome, None, seed);
            for (gene, values) in GENES.iter().zip(&genome.values) {
                for (property, value) in gene.properties.iter().zip(values) {
                    assert!((property.low..=property.high).contains(value), "{} {value}", property.name);
                }
            }
        }
    }
}
