//! Sets whose features each hang on one piece, and at most on the own king's square: the quick way.
//!
//! Then a table by kind and square says which feature a piece holds, one table
//! per *context* (a class of own king squares that see the same features); a
//! change of context asks for a refresh. A feature that several pieces can hold
//! at once, such as "a white rook on the e-file", comes and goes with the first
//! and the last of them: its holders are counted on the bitboards before and
//! after, so no counters have to be kept in step with the search.

use shakmaty::Color;

use super::block::{Block, Subject};
use super::pieces::{Changes, KINDS, Pieces, Standing};
use super::tree::Product;

const NOBODY: u32 = u32::MAX;
const CELLS: usize = KINDS * 64;

pub struct Local {
    /// The context of each square of the own king.
    contexts: [u8; 64],
    count: usize,
    terms: Vec<Term>,
}

struct Term {
    /// By context, kind and square: the feature that such a piece holds.
    features: Vec<u32>,
    /// Where several pieces can hold one feature: by context, kind and square, the squares that share it.
    shared: Option<Vec<u64>>,
    subject: Subject,
    by_role: bool,
    by_color: bool,
}

impl Local {
    /// The tables, or none where some product needs more than one piece.
    pub fn new(products: &[Product]) -> Option<Local> {
        let anchors: Vec<Subject> = products.iter().map(anchor).collect::<Option<_>>()?;
        let mut contexts = [0u8; 64];
        let mut tables: Vec<Vec<Vec<u32>>> = Vec::new();
        for king in 0..64u8 {
            let table: Vec<Vec<u32>> =
                products.iter().zip(&anchors).map(|(product, &who)| held(product, who, king)).collect();
            let known = tables.iter().position(|other| *other == table);
            contexts[usize::from(king)] = known.unwrap_or(tables.len()) as u8;
            if known.is_none() {
                tables.push(table);
            }
        }
        let terms = products
            .iter()
            .zip(&anchors)
            .enumerate()
            .map(|(at, (product, &subject))| {
                let features: Vec<u32> = tables.iter().flat_map(|table| table[at].iter().copied()).collect();
                let has = |block| product.atoms.iter().any(|(a, _)| a.subject == subject && a.block == block);
                let term = Term {
                    shared: None,
                    subject,
                    by_role: has(Block::Role),
                    by_color: has(Block::Color),
                    features,
                };
                let shared = term.sharing();
                Term { shared, ..term }
            })
            .collect();
        Some(Local { contexts, count: tables.len(), terms })
    }

    pub fn contexts(&self) -> usize {
        self.count
    }

    /// The context of a placement in a view.
    #[inline]
    pub fn context(&self, pieces: &Pieces, view: Color) -> usize {
        let (side, turn) = orientation(view);
        usize::from(self.contexts[usize::from(pieces.king(side as usize) ^ turn)])
    }

    /// What changes between two placements of one context, given the pieces that went and came.
    #[inline]
    pub fn changes(
        &self,
        context: usize,
        view: Color,
        (before, gone): (&Pieces, &Changes),
        (after, come): (&Pieces, &Changes),
        added: &mut Vec<u32>,
        removed: &mut Vec<u32>,
    ) {
        let (side, turn) = orientation(view);
        let cell = |piece: &Standing| {
            context * CELLS + usize::from(piece.kind ^ side) * 64 + usize::from(piece.square ^ turn)
        };
        for term in &self.terms {
            let Some(shared) = &term.shared else {
                let held = |piece| Some(term.features[cell(piece)]).filter(|&feature| feature != NOBODY);
                removed.extend(gone.as_slice().iter().filter_map(held));
                added.extend(come.as_slice().iter().filter_map(held));
                continue;
            };
            let (first_added, first_removed) = (added.len(), removed.len());
            for piece in gone.as_slice().iter().chain(come.as_slice()) {
                let at = cell(piece);
                let feature = term.features[at];
                if feature == NOBODY {
                    continue;
                }
                let squares = if turn == 0 { shared[at] } else { shared[at].swap_bytes() };
                let was = term.holders(before, piece.kind, side) & squares != 0;
                let is = term.holders(after, piece.kind, side) & squares != 0;
                let (list, first) =
                    if is { (&mut *added, first_added) } else { (&mut *removed, first_removed) };
                if was != is && !list[first..].contains(&feature) {
                    list.push(feature);
                }
            }
        }
    }

    /// The table of a context if one piece holds at most one feature and shares it with no other.
    ///
    /// Then a change is a look into the table for each piece that went or came: see `Plain`.
    #[inline]
    pub fn plain(&self, context: usize, view: Color) -> Option<Plain<'_>> {
        match &self.terms[..] {
            [Term { shared: None, features, .. }] => {
                let (side, turn) = orientation(view);
                let cells = features[context * CELLS..].first_chunk()?;
                Some(Plain { cells, side, turn })
            }
            _ => None,
        }
    }

    /// Every active feature of a placement.
    #[inline]
    pub fn active(&self, pieces: &Pieces, view: Color, emit: &mut Vec<u32>) {
        let (side, turn) = orientation(view);
        let context = self.context(pieces, view);
        // Square by square as the view has it, so that square-major sets come out sorted.
        let mut rest = if turn == 0 { pieces.occupied() } else { pieces.occupied().swap_bytes() };
        let [first, others @ ..] = &self.terms[..] else { return };
        let start = emit.len();
        let mut seen = [0usize; 64];
        let mut count = 0;
        while rest != 0 {
            let square = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            let kind = pieces.kind_at(square ^ turn) ^ side;
            let at = context * CELLS + usize::from(kind) * 64 + usize::from(square);
            seen[count] = at;
            count += 1;
            first.emit(at, start, emit);
        }
        for term in others {
            let start = emit.len();
            seen[..count].iter().for_each(|&at| term.emit(at, start, emit));
        }
    }
}

/// One view of one context of a set in which every piece stands for itself.
pub struct Plain<'a> {
    cells: &'a [u32; CELLS],
    side: u8,
    turn: u8,
}

impl Plain<'_> {
    /// The features of a few pieces, and how many they are.
    #[inline]
    pub fn features<const FEW: usize>(&self, pieces: &[Standing], out: &mut [u32; FEW]) -> usize {
        let mut count = 0;
        for piece in pieces.iter().take(FEW) {
            let cell = usize::from(piece.kind ^ self.side) * 64 + usize::from(piece.square ^ self.turn);
            let feature = self.cells[cell];
            out[count] = feature;
            count += usize::from(feature != NOBODY);
        }
        count
    }
}

impl Term {
    #[inline]
    fn emit(&self, at: usize, start: usize, emit: &mut Vec<u32>) {
        let feature = self.features[at];
        if feature != NOBODY && (self.shared.is_none() || !emit[start..].contains(&feature)) {
            emit.push(feature);
        }
    }

    /// The pieces, anywhere, that could hold a feature that this kind holds.
    #[inline]
    fn holders(&self, pieces: &Pieces, kind: u8, side: u8) -> u64 {
        let own = usize::from(side);
        let (role, color) = match self.subject {
            Subject::King => (pieces.roles[5], pieces.colors[own]),
            Subject::OtherKing => (pieces.roles[5], pieces.colors[own ^ 1]),
            Subject::White => (u64::MAX, pieces.colors[own]),
            Subject::Black => (u64::MAX, pieces.colors[own ^ 1]),
            Subject::NoKing => (!pieces.roles[5], pieces.occupied()),
            _ => (u64::MAX, pieces.occupied()),
        };
        let role = if self.by_role { role & pieces.roles[usize::from(kind >> 1)] } else { role };
        if self.by_color { role & color & pieces.colors[usize::from(kind & 1)] } else { role & color }
    }

    /// For each cell the squares of its kind that hold the same feature; none if no feature has two holders.
    fn sharing(&self) -> Option<Vec<u64>> {
        let mut shared = vec![0u64; self.features.len()];
        let mut any = false;
        for (context, features) in self.features.chunks_exact(CELLS).enumerate() {
            let mut holders = std::collections::HashMap::<u32, u32>::new();
            for (at, &feature) in features.iter().enumerate().filter(|(_, feature)| **feature != NOBODY) {
                let kind = at / 64 * 64;
                for square in 0..64 {
                    let same = features[kind + square] == feature;
                    shared[context * CELLS + at] |= u64::from(same) << square;
                }
                *holders.entry(feature).or_default() += 1;
            }
            any |= holders.values().any(|&count| count > 1);
        }
        any.then_some(shared)
    }
}

/// What turns a kind and a square into the view's.
#[inline]
fn orientation(view: Color) -> (u8, u8) {
    match view {
        Color::White => (0, 0),
        Color::Black => (1, 56),
    }
}

/// The one piece that the product hangs on, beside the own king's square.
fn anchor(product: &Product) -> Option<Subject> {
    if product.atoms.iter().any(|(atom, _)| atom.block.counts()) {
        return None;
    }
    match product.subjects()[..] {
        [Subject::King, other] => Some(other),
        [only] => Some(only),
        _ => None,
    }
    .filter(|subject| !subject.follows_piece())
}

/// By kind and square: the feature that a piece holds while the own king stands on `king`.
fn held(product: &Product, anchor: Subject, king: u8) -> Vec<u32> {
    let feature = |kind: u8, square: u8| {
        let mut raw = product.offset;
        for (atom, stride) in &product.atoms {
            let (kind, square) = if atom.subject == anchor { (kind, square) } else { (10, king) };
            raw += atom.value(kind, square, king) * stride;
        }
        product.number(raw).unwrap_or(NOBODY)
    };
    (0..KINDS as u8)
        .flat_map(|kind| (0..64u8).map(move |square| (kind, square)))
        .map(|(kind, square)| if anchor.allows(kind) { feature(kind, square) } else { NOBODY })
        .collect()
}
