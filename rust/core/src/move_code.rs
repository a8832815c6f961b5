//! A move in sixteen bits: from | to << 6 | promotion << 12.
//!
//! Promotion is 0 for none, 1 knight, 2 bishop, 3 rook, 4 queen. Castling is
//! the king's two steps. The code needs its position to become a move again.

use shakmaty::uci::UciMove;
use shakmaty::{Chess, Move, Role, Square};

use crate::error::{Error, Result};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct MoveCode(pub u16);

impl MoveCode {
    pub fn new(from: Square, to: Square, promotion: Option<Role>) -> MoveCode {
        let promotion = match promotion {
            None => 0,
            Some(Role::Knight) => 1,
            Some(Role::Bishop) => 2,
            Some(Role::Rook) => 3,
            Some(_) => 4,
        };
        MoveCode(u16::from(from) | u16::from(to) << 6 | promotion << 12)
    }

    pub fn of(m: Move) -> MoveCode {
        let uci = UciMove::from_standard(m);
        MoveCode::new(
            uci.from().expect("no drops in chess"),
            uci.to().expect("no null moves"),
            uci.promotion(),
        )
    }

    pub fn from(self) -> Square {
        Square::new(u32::from(self.0 & 63))
    }

    pub fn to(self) -> Square {
        Square::new(u32::from(self.0 >> 6 & 63))
    }

    pub fn promotion(self) -> Option<Role> {
        match self.0 >> 12 {
            1 => Some(Role::Knight),
            2 => Some(Role::Bishop),
            3 => Some(Role::Rook),
            4 => Some(Role::Queen),
            _ => None,
        }
    }

    pub fn is_well_formed(self) -> bool {
        self.0 >> 12 <= 4
    }

    /// The same move on the board turned upside down.
    pub fn flipped(self) -> MoveCode {
        MoveCode(self.0 ^ (56 | 56 << 6))
    }

    pub fn uci(self) -> UciMove {
        UciMove::Normal { from: self.from(), to: self.to(), promotion: self.promotion() }
    }

    pub fn parse(text: &str) -> Result<MoveCode> {
        match UciMove::from_ascii(text.as_bytes()) {
            Ok(UciMove::Normal { from, to, promotion }) => Ok(MoveCode::new(from, to, promotion)),
            _ => Err(Error::Malformed(format!("{text:?} is not a move like e2e4 or e7e8q"))),
        }
    }

    /// The legal move that this code means in `position`, if there is one.
    ///
    /// Castling written as the king taking its rook is not among them: one
    /// move has one code.
    pub fn to_move(self, position: &Chess) -> Option<Move> {
        if !self.is_well_formed() {
            return None;
        }
        self.uci().to_move(position).ok().filter(|&m| MoveCode::of(m) == self)
    }
}
