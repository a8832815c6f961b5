//! A genome: its numbers, and its text, one `key: value` a line.
//!
//! ```text
//! ID: 27514
//! Parents: 27310 27398
//!
//! Name: Piece Strength Gene
//! B: 7.7799
//! …
//!
//! END
//! ```
//!
//! Each gene starts with `Name:` and ends with a blank line. Every gene and
//! every property must be there, but a property with a default (`Exponent`)
//! is neither asked for nor written where it has it. What is read is written
//! back the same.

use std::fmt::Write;

use super::schema::{GENES, Gene, Property, gene_number, nearest};
use crate::error::{Error, Result};

#[derive(Clone, Debug, PartialEq)]
pub struct Genome {
    pub id: u64,
    /// As written: two numbers, or a number and `random`; None for the first generation.
    pub parents: Option<String>,
    /// By gene and property, in the schema's order.
    pub values: [Vec<f64>; GENES.len()],
}

impl Genome {
    pub fn value(&self, gene: &str, property: &str) -> f64 {
        let at = gene_number(gene).expect("a gene of the schema");
        let of = GENES[at].properties.iter().position(|each| each.name == property);
        self.values[at][of.expect("a property of the gene")]
    }

    pub fn text(&self) -> String {
        let mut text = format!("ID: {}\n", self.id);
        if let Some(parents) = &self.parents {
            writeln!(text, "Parents: {parents}").expect("a string takes all");
        }
        text.push('\n');
        for (gene, values) in GENES.iter().zip(&self.values) {
            writeln!(text, "Name: {}", gene.name).expect("a string takes all");
            for (property, value) in gene.properties.iter().zip(values) {
                if property.default != Some(*value) {
                    writeln!(text, "{}: {value}", property.name).expect("a string takes all");
                }
            }
            text.push('\n');
        }
        text + "END\n"
    }

    /// Read one genome, from its `ID:` line to its `END`.
    pub fn parse(text: &str) -> Result<Genome> {
        let mut reader = Reader::default();
        let mut ended = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if ended {
                return wrong(format!("one genome was expected, more follows after END: {line:?}"));
            }
            if line == "END" {
                ended = true;
                continue;
            }
            let (key, value) = line.split_once(':').ok_or_else(|| {
                Error::Malformed(format!("line {}: expected `key: value`, got {line:?}", number + 1))
            })?;
            reader.take(key.trim(), value.trim()).map_err(|error| {
                let Error::Malformed(text) = error else { return error };
                Error::Malformed(format!("line {}: {text}", number + 1))
            })?;
        }
        if !ended {
            return wrong("the genome is cut off: its END is missing".into());
        }
        reader.finish()
    }
}

fn wrong<T>(text: String) -> Result<T> {
    Err(Error::Malformed(text))
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    id: Option<u64>,
    parents: Option<String>,
    values: [Option<Vec<Option<f64>>>; GENES.len()],
    gene: Option<usize>,
}

impl Reader {
    fn take(&mut self, key: &str, value: &str) -> Result<()> {
        if self.id.is_none() {
            if key != "ID" {
                return wrong(format!("a genome begins with `ID: number`, got `{key}: {value}`"));
            }
            self.id =
                Some(value.parse().map_err(|_| {
                    Error::Malformed(format!("a genome's ID is a whole number, got {value:?}"))
                })?);
            return Ok(());
        }
        if key == "Name" {
            return self.open(value);
        }
        let Some(at) = self.gene else {
            if key == "Parents" && self.parents.is_none() {
                self.parents = Some(value.to_string());
                return Ok(());
            }
            return wrong(format!("expected `Name:` of a gene, got `{key}: {value}`"));
        };
        let gene = &GENES[at];
        let Some(of) = gene.properties.iter().position(|property| property.name == key) else {
            let hint = nearest(key, gene.properties.iter().map(|property| property.name));
            return wrong(format!("the {} has no {key:?}{}", gene.name, meant(hint)));
        };
        let slot = &mut self.values[at].as_mut().expect("opened by its name")[of];
        if slot.is_some() {
            return wrong(format!("{key} stands twice in the {}", gene.name));
        }
        *slot = Some(number(gene, &gene.properties[of], value)?);
        Ok(())
    }

    fn open(&mut self, name: &str) -> Result<()> {
        let Some(at) = gene_number(name) else {
            let hint = nearest(name, GENES.iter().map(|gene| gene.name));
            return wrong(format!("unknown gene {name:?}{}", meant(hint)));
        };
        if self.values[at].is_some() {
            return wrong(format!("the {name} stands twice in the genome"));
        }
        self.values[at] = Some(vec![None; GENES[at].properties.len()]);
        self.gene = Some(at);
        Ok(())
    }

    fn finish(self) -> Result<Genome> {
        let mut values: [Vec<f64>; GENES.len()] = Default::default();
        for ((gene, found), into) in GENES.iter().zip(self.values).zip(&mut values) {
            let found = found.ok_or_else(|| Error::Malformed(format!("the genome has no {}", gene.name)))?;
            for (property, value) in gene.properties.iter().zip(found) {
                into.push(value.or(property.default).ok_or_else(|| {
                    Error::Malformed(format!("the {} has no {}", gene.name, property.name))
                })?);
            }
        }
        let id = self.id.ok_or_else(|| Error::Malformed("the genome has no ID".into()))?;
        Ok(Genome { id, parents: self.parents, values })
    }
}

fn meant(hint: Option<&str>) -> String {
    hint.map_or_else(String::new, |name| format!(", did you mean {name:?}?"))
}

fn number(gene: &Gene, property: &Property, text: &str) -> Result<f64> {
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
        Error::Malformed(format!("{} of the {} must be a number, got {text:?}", property.name, gene.name))
    })?;
    if !(property.low..=property.high).contains(&value) || property.whole && value.fract() != 0.0 {
        let kind = if property.whole { "a whole number" } else { "a number" };
        return wrong(format!(
            "{} of the {} must be {kind} from {} to {}, got {text}",
            property.name, gene.name, property.low, property.high
        ));
    }
    Ok(value)
}
