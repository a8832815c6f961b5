//! The alpha-beta search: an engine for any evaluation.
//!
//! One idea per file. `board`, `piece`, `zobrist`, `generate` and `exchange`
//! are the position as a search needs it; `table` (in `large_pages`) and `history` are
//! what is remembered; `picker` orders moves; `margins` has the numbers; `alphabeta`,
//! `shortcuts`, `lessons` and `quiesce` are a node; `driver` deepens; `limits`
//! and `lag` stop; `engine` is the door. `evaluate` says what an evaluation is;
//! `handmade` is one, `learned` is a network's.

mod alphabeta;
pub mod board;
mod driver;
pub mod engine;
pub mod evaluate;
pub mod exchange;
pub mod generate;
pub mod handmade;
mod history;
mod lag;
mod large_pages;
pub mod learned;
mod lessons;
pub mod limits;
mod margins;
mod node;
mod picker;
pub mod piece;
mod quiesce;
pub mod score;
mod shortcuts;
mod table;
pub mod techniques;
mod zobrist;

pub use board::Board;
pub use driver::Info;
pub use engine::{Engine, Line, Outcome};
pub use evaluate::{Evaluate, EvaluateChess, Mirror};
pub use handmade::Handmade;
pub use learned::{Evaluator, Learned};
pub use limits::{Clock, Limits};
pub use score::Verdict;
pub use techniques::Techniques;
