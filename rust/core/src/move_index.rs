//! The three spaces in which a network numbers its moves.
//!
//! * `Planes`: 8×8×73 as in AlphaZero, flat index from·73 + plane;
//! * `Uci`: the 1968 UCI strings that any piece could ever play, alphabetically;
//! * `FromTo`: from·64 + to, and after those 4096 the 132 underpromotions.
//!
//! Squares are those of the view (see `encode::View`), so a board turned to
//! Black numbers Black's moves as White's.

use std::sync::LazyLock;

use shakmaty::{Chess, Move, Position, Rank, Role};

use crate::move_code::MoveCode;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Planes,
    Uci,
    FromTo,
}

const PLANES_SIZE: usize = 64 * 73;
const UCI_SIZE: usize = 1968;
const FROM_TO_SIZE: usize = 64 * 64 + 132;

const NONE: u16 = u16::MAX;

/// Steps (file, rank) of the eight queen directions, N first, clockwise.
const DIRECTIONS: [(i32, i32); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];
/// The knight's jumps (file, rank), clockwise from NNE.
const JUMPS: [(i32, i32); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// Index by move code (from | to << 6 | promotion << 12) and move code by index.
struct Table {
    index: Vec<u16>,
    code: Vec<u16>,
}

impl Table {
    fn new(size: usize, entries: impl Iterator<Item = (MoveCode, usize)>) -> Table {
        let mut table = Table { index: vec![NONE; 5 << 12], code: vec![NONE; size] };
        for (code, index) in entries {
            table.index[usize::from(code.0)] = index as u16;
            // A promotion to a queen shares its index with the plain move; the plain one is kept.
            if table.code[index] == NONE {
                table.code[index] = code.0;
            }
        }
        table
    }
}

/// Every (from, to) that a queen or a knight could play, with its plane.
fn geometry() -> Vec<(u32, u32, usize)> {
    let mut all = Vec::new();
    for from in 0..64u32 {
        let (file, rank) = ((from % 8) as i32, (from / 8) as i32);
        let mut add = |df: i32, dr: i32, plane: usize| {
            let (f, r) = (file + df, rank + dr);
            if (0..8).contains(&f) && (0..8).contains(&r) {
                all.push((from, (r * 8 + f) as u32, plane));
            }
        };
        for (direction, (df, dr)) in DIRECTIONS.iter().enumerate() {
            for distance in 1..8 {
                add(df * distance, dr * distance, direction * 7 + distance as usize - 1);
            }
        }
        for (jump, (df, dr)) in JUMPS.iter().enumerate() {
            add(*df, *dr, 56 + jump);
        }
    }
    all
}

const UNDERPROMOTIONS: [Role; 3] = [Role::Knight, Role::Bishop, Role::Rook];

/// The 44 (from, to) pairs by which a pawn promotes, ascending.
fn promotion_pairs() -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for (ranks, step) in [(8..16u32, -8i32), (48..56u32, 8i32)] {
        for from in ranks {
            for df in -1..=1 {
                if (0..8).contains(&((from % 8) as i32 + df)) {
                    pairs.push((from, (from as i32 + step + df) as u32));
                }
            }
        }
    }
    pairs
}

fn code(from: u32, to: u32, promotion: Option<Role>) -> MoveCode {
    MoveCode::new(shakmaty::Square::new(from), shakmaty::Square::new(to), promotion)
}

static PLANES: LazyLock<Table> = LazyLock::new(|| {
    let plain =
        geometry().into_iter().map(|(from, to, plane)| (code(from, to, None), from as usize * 73 + plane));
    let mut entries: Vec<_> = plain.collect();
    for (from, to) in promotion_pairs() {
        let plain =
            entries.iter().find(|(c, _)| *c == code(from, to, None)).expect("a pawn moves like a queen").1;
        entries.push((code(from, to, Some(Role::Queen)), plain));
        let file_step = (to % 8) as usize + 1 - (from % 8) as usize;
        for (piece, role) in UNDERPROMOTIONS.into_iter().enumerate() {
            entries.push((code(from, to, Some(role)), from as usize * 73 + 64 + piece * 3 + file_step));
        }
    }
    Table::new(PLANES_SIZE, entries.into_iter())
});

static UCI_CODES: LazyLock<Vec<MoveCode>> = LazyLock::new(|| {
    let mut codes: Vec<MoveCode> = geometry().into_iter().map(|(from, to, _)| code(from, to, None)).collect();
    for (from, to) in promotion_pairs() {
        for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
            codes.push(code(from, to, Some(role)));
        }
    }
    codes.sort_by_key(|c| c.uci().to_string());
    codes
});

static UCI: LazyLock<Table> =
    LazyLock::new(|| Table::new(UCI_SIZE, UCI_CODES.iter().enumerate().map(|(index, &code)| (code, index))));

static FROM_TO: LazyLock<Table> = LazyLock::new(|| {
    let mut entries: Vec<_> = geometry()
        .into_iter()
        .map(|(from, to, _)| (code(from, to, None), (from * 64 + to) as usize))
        .collect();
    for (pair, (from, to)) in promotion_pairs().into_iter().enumerate() {
        entries.push((code(from, to, Some(Role::Queen)), (from * 64 + to) as usize));
        for (piece, role) in UNDERPROMOTIONS.into_iter().enumerate() {
            entries.push((code(from, to, Some(role)), 4096 + pair * 3 + piece));
        }
    }
    Table::new(FROM_TO_SIZE, entries.into_iter())
});

impl Space {
    pub fn size(self) -> usize {
        match self {
            Space::Planes => PLANES_SIZE,
            Space::Uci => UCI_SIZE,
            Space::FromTo => FROM_TO_SIZE,
        }
    }

    fn table(self) -> &'static Table {
        match self {
            Space::Planes => &PLANES,
            Space::Uci => &UCI,
            Space::FromTo => &FROM_TO,
        }
    }

    /// The table from move code to index, for loops over many moves.
    pub fn indices(self) -> &'static [u16] {
        &self.table().index
    }

    /// The number of a move; `flip` for a view from Black's side.
    pub fn index(self, code: MoveCode, flip: bool) -> Option<usize> {
        let code = if flip { code.flipped() } else { code };
        match self.table().index.get(usize::from(code.0)) {
            Some(&index) if index != NONE => Some(usize::from(index)),
            _ => None,
        }
    }

    /// The legal move of `position` that has this number, if any.
    pub fn to_move(self, position: &Chess, index: usize, flip: bool) -> Option<Move> {
        let &raw = self.table().code.get(index)?;
        if raw == NONE {
            return None;
        }
        let code = if flip { MoveCode(raw).flipped() } else { MoveCode(raw) };
        if self != Space::Uci && is_pawn_to_last_rank(position, code) && code.promotion().is_none() {
            return MoveCode::new(code.from(), code.to(), Some(Role::Queen)).to_move(position);
        }
        code.to_move(position)
    }
}

fn is_pawn_to_last_rank(position: &Chess, code: MoveCode) -> bool {
    matches!(code.to().rank(), Rank::First | Rank::Eighth)
        && position.board().role_at(code.from()) == Some(Role::Pawn)
}

/// The 1968 UCI strings in the order of their numbers.
pub fn uci_strings() -> Vec<String> {
    UCI_CODES.iter().map(|code| code.uci().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uci_space_has_exactly_1968_moves() {
        assert_eq!(UCI_CODES.len(), UCI_SIZE);
    }

    #[test]
    fn there_are_44_ways_for_a_pawn_to_promote() {
        assert_eq!(promotion_pairs().len(), 44);
    }

    #[test]
    fn every_index_of_the_uci_space_is_taken_once() {
        assert!(UCI.code.iter().all(|&code| code != NONE));
    }
}
