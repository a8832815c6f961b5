//! An expression as a tree: sizes, indices by strides, and the products it is a sum of.
//!
//! In `A * B` the index of (a, b) is `a * |B| + b`; in `A + B` the features of
//! B come after those of A. Multiplied out, any tree is a list of products of
//! atoms, each with its strides: that list is what everything else works on.

use std::sync::Arc;

use super::block::{Atom, Mirror, Subject};

#[derive(Clone, Debug)]
pub enum Node {
    Atom(Atom),
    Sum(Vec<Node>),
    Product(Vec<Node>),
    /// Some of the features of another node, numbered anew.
    Subset(Box<Node>, Arc<Selection>),
}

impl Node {
    pub fn size(&self) -> u64 {
        match self {
            Node::Atom(atom) => u64::from(atom.size()),
            Node::Sum(parts) => parts.iter().map(Node::size).fold(0, u64::saturating_add),
            Node::Product(parts) => parts.iter().map(Node::size).fold(1, u64::saturating_mul),
            Node::Subset(_, selection) => selection.len() as u64,
        }
    }

    /// How many products the tree is when multiplied out.
    pub fn count_products(&self) -> u64 {
        match self {
            Node::Atom(_) => 1,
            Node::Sum(parts) => parts.iter().map(Node::count_products).fold(0, u64::saturating_add),
            Node::Product(parts) => parts.iter().map(Node::count_products).fold(1, u64::saturating_mul),
            Node::Subset(inner, _) => inner.count_products(),
        }
    }

    pub fn has_subset(&self) -> bool {
        match self {
            Node::Atom(_) => false,
            Node::Sum(parts) | Node::Product(parts) => parts.iter().any(Node::has_subset),
            Node::Subset(..) => true,
        }
    }

    pub fn for_each_atom(&mut self, each: &mut impl FnMut(&mut Atom)) {
        match self {
            Node::Atom(atom) => each(atom),
            Node::Sum(parts) | Node::Product(parts) => {
                parts.iter_mut().for_each(|part| part.for_each_atom(each));
            }
            Node::Subset(inner, _) => inner.for_each_atom(each),
        }
    }

    pub fn mirrored(mut self, mirror: Mirror) -> Node {
        self.for_each_atom(&mut |atom| {
            atom.mirror.files |= mirror.files;
            atom.mirror.ranks |= mirror.ranks;
        });
        self
    }

    /// The atoms of feature `index`, each with its value.
    pub fn decode(&self, index: u64, found: &mut Vec<(Atom, u32)>) {
        match self {
            Node::Atom(atom) => found.push((*atom, index as u32)),
            Node::Sum(parts) => {
                let mut rest = index;
                for part in parts {
                    if rest < part.size() {
                        return part.decode(rest, found);
                    }
                    rest -= part.size();
                }
            }
            Node::Product(parts) => {
                let mut below: u64 = parts.iter().map(Node::size).product();
                let mut rest = index;
                for part in parts {
                    below /= part.size();
                    part.decode(rest / below, found);
                    rest %= below;
                }
            }
            Node::Subset(inner, selection) => {
                inner.decode(u64::from(selection.original(index as u32)), found)
            }
        }
    }

    /// Multiply out.
    pub fn products(&self) -> Vec<Product> {
        match self {
            Node::Atom(atom) => vec![Product { atoms: vec![(*atom, 1)], offset: 0, selected: None }],
            Node::Sum(parts) => {
                let mut all = Vec::new();
                let mut before = 0;
                for part in parts {
                    all.extend(part.products().into_iter().map(|product| product.shifted(before)));
                    before += part.size() as u32;
                }
                all
            }
            Node::Product(parts) => {
                let one = Product { atoms: Vec::new(), offset: 0, selected: None };
                parts.iter().fold(vec![one], |left, part| {
                    let (size, right) = (part.size() as u32, part.products());
                    left.iter().flat_map(|a| right.iter().map(move |b| a.times(size, b))).collect()
                })
            }
            Node::Subset(inner, selection) => inner
                .products()
                .into_iter()
                .map(|product| Product { selected: Some((selection.clone(), 0)), ..product })
                .collect(),
        }
    }
}

/// Atoms with their strides; the feature's number is `offset + Σ value × stride`.
#[derive(Clone, Debug)]
pub struct Product {
    pub atoms: Vec<(Atom, u32)>,
    pub offset: u32,
    /// Where the number above is that of the whole set and only some are kept.
    selected: Option<(Arc<Selection>, u32)>,
}

impl Product {
    fn shifted(mut self, by: u32) -> Product {
        match &mut self.selected {
            Some((_, base)) => *base += by,
            None => self.offset += by,
        }
        self
    }

    fn times(&self, size: u32, other: &Product) -> Product {
        let mut atoms: Vec<_> = self.atoms.iter().map(|&(atom, stride)| (atom, stride * size)).collect();
        atoms.extend(&other.atoms);
        Product { atoms, offset: self.offset * size + other.offset, selected: None }
    }

    /// The feature's number in the set, or none where a subset leaves it out.
    #[inline]
    pub fn number(&self, raw: u32) -> Option<u32> {
        match &self.selected {
            None => Some(raw),
            Some((selection, base)) => selection.position(raw).map(|position| base + position),
        }
    }

    /// How many features it has before a subset leaves some out.
    pub fn size(&self) -> u64 {
        self.atoms.iter().map(|(atom, _)| u64::from(atom.size())).product()
    }

    /// The subjects spoken of, in their order; P where another is found from it, K where an atom looks at it.
    pub fn subjects(&self) -> Vec<Subject> {
        let mut subjects: Vec<Subject> = self.atoms.iter().map(|(atom, _)| atom.subject).collect();
        if subjects.iter().any(|subject| subject.follows_piece()) {
            subjects.push(Subject::Any);
        }
        if self.atoms.iter().any(|(atom, _)| atom.looks_at_king()) {
            subjects.push(Subject::King);
        }
        subjects.sort_unstable();
        subjects.dedup();
        subjects
    }
}

/// A set of feature numbers that answers "the how-manieth is this?" in a few steps.
#[derive(Clone, Debug)]
pub struct Selection {
    words: Vec<u64>,
    /// How many are chosen before each word.
    ranks: Vec<u32>,
    chosen: Vec<u32>,
}

impl Selection {
    /// From ascending numbers.
    pub fn new(chosen: Vec<u32>) -> Selection {
        let length = chosen.last().map_or(0, |&last| last as usize / 64 + 1);
        let mut words = vec![0u64; length];
        for &number in &chosen {
            words[number as usize / 64] |= 1 << (number % 64);
        }
        let mut before = 0;
        let ranks = words
            .iter()
            .map(|word| {
                let rank = before;
                before += word.count_ones();
                rank
            })
            .collect();
        Selection { words, ranks, chosen }
    }

    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    fn original(&self, position: u32) -> u32 {
        self.chosen[position as usize]
    }

    #[inline]
    fn position(&self, number: u32) -> Option<u32> {
        let at = number as usize / 64;
        let (word, bit) = (*self.words.get(at)?, 1u64 << (number % 64));
        (word & bit != 0).then(|| self.ranks[at] + (word & (bit - 1)).count_ones())
    }
}
