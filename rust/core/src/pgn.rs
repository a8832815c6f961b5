//! One game of PGN text, replayed: its tags, its moves, the positions on the way.
//!
//! Made for millions of games of uneven quality: comments, variations and
//! glyphs are passed over, `[%eval]` is kept, and a game that cannot be
//! replayed is an error that says why.

use shakmaty::san::San;
use shakmaty::{Chess, Color, Position};

use crate::move_code::MoveCode;
use crate::packed::{self, Packed, mix};
use crate::rules;

/// No evaluation is known.
pub const NO_EVAL: i16 = 32767;
/// A mate in n is ±(MATE − n); other evaluations stay within ±LARGEST_EVAL.
pub const MATE: i16 = 10000;
pub const LARGEST_EVAL: i16 = 9500;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GameResult {
    Win(Color),
    Draw,
    Unknown,
}

impl GameResult {
    fn parse(text: &[u8]) -> Option<GameResult> {
        match text {
            b"1-0" => Some(GameResult::Win(Color::White)),
            b"0-1" => Some(GameResult::Win(Color::Black)),
            b"1/2-1/2" | b"1/2" => Some(GameResult::Draw),
            b"*" => Some(GameResult::Unknown),
            _ => None,
        }
    }

    /// 1, 0, −1 for White, −128 unknown: as it stands in a record.
    pub fn for_white(self) -> i8 {
        match self {
            GameResult::Win(Color::White) => 1,
            GameResult::Win(Color::Black) => -1,
            GameResult::Draw => 0,
            GameResult::Unknown => -128,
        }
    }
}

/// A position of the game and the move played there.
pub struct Ply {
    pub packed: Packed,
    pub key: u64,
    pub code: MoveCode,
    /// Centipawns from White's view before the move, if a comment said so.
    pub eval: i16,
}

pub struct Game {
    pub plies: Vec<Ply>,
    /// The key of the position after the last move.
    pub last_key: u64,
    pub result: GameResult,
    pub white_elo: u16,
    pub black_elo: u16,
    /// Base time in seconds, where a TimeControl tag gives one.
    pub base_seconds: Option<u32>,
    /// The tag of a chess variant that is not ours.
    pub is_variant: bool,
    /// Start position and moves, hashed: the identity by which games are split and sampled.
    pub hash: u64,
}

#[derive(Default)]
struct Tags<'a> {
    result: Option<GameResult>,
    white_elo: u16,
    black_elo: u16,
    base_seconds: Option<u32>,
    fen: Option<&'a [u8]>,
    is_variant: bool,
}

/// Split `[Name "value"]` into name and value.
pub fn tag(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = line.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    let open = memchr::memchr(b'"', inner)?;
    let close = memchr::memrchr(b'"', inner)?;
    let name = inner[..open].trim_ascii();
    let named = !name.is_empty() && name.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_');
    (close > open && named).then(|| (name, &inner[open + 1..close]))
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

impl<'a> Tags<'a> {
    fn read(&mut self, name: &[u8], value: &'a [u8]) {
        match name {
            b"Result" => self.result = GameResult::parse(value),
            b"WhiteElo" => self.white_elo = number(value).unwrap_or(0).min(65535) as u16,
            b"BlackElo" => self.black_elo = number(value).unwrap_or(0).min(65535) as u16,
            b"TimeControl" => self.base_seconds = base_seconds(value),
            b"FEN" => self.fen = Some(value),
            b"Variant" => {
                let known: [&[u8]; 4] = [b"standard", b"chess", b"from position", b"normal"];
                self.is_variant = !known.contains(&value.to_ascii_lowercase().as_slice());
            }
            _ => {}
        }
    }
}

/// The first period's seconds of a TimeControl tag: `900+10`, `40/7200:3600`, `300`.
fn base_seconds(value: &[u8]) -> Option<u32> {
    let first = value.split(|&c| c == b':').next()?;
    let after_moves = first.rsplit(|&c| c == b'/').next()?;
    number(after_moves.split(|&c| c == b'+').next()?)
}

/// `[%eval 0.35]`, `[%eval #-4]` or `[%eval 1.2,18]` as centipawns from White's view.
fn eval_in(comment: &[u8]) -> Option<i16> {
    let at = memchr::memmem::find(comment, b"[%eval ")?;
    let rest = &comment[at + 7..];
    let end = rest.iter().position(|c| matches!(c, b']' | b',' | b' '))?;
    let text = std::str::from_utf8(&rest[..end]).ok()?;
    if let Some(mate) = text.strip_prefix('#') {
        let moves: i32 = mate.parse().ok()?;
        let distance = MATE - moves.unsigned_abs().min(255) as i16;
        return Some(if mate.starts_with('-') { -distance } else { distance });
    }
    let pawns: f64 = text.parse().ok()?;
    pawns
        .is_finite()
        .then(|| (pawns * 100.0).round().clamp(f64::from(-LARGEST_EVAL), f64::from(LARGEST_EVAL)) as i16)
}

/// Replay one game; the error says why it cannot be.
pub fn read_game(text: &[u8]) -> Result<Game, String> {
    let mut tags = Tags::default();
    let mut rest = text;
    // Tags come first; the first other line that is not blank starts the moves.
    loop {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let line = rest[..end].trim_ascii();
        if let Some((name, value)) = tag(line) {
            tags.read(name, value);
        } else if !(line.is_empty() || line.starts_with(b"%") || line == b"\xEF\xBB\xBF") {
            break;
        }
        if end == rest.len() {
            rest = &[];
            break;
        }
        rest = &rest[end..];
    }
    let start = match tags.fen {
        None => Chess::default(),
        Some(fen) => rules::from_fen(&String::from_utf8_lossy(fen)).map_err(|error| error.to_string())?,
    };
    let mut replay = Replay::new(start);
    if !tags.is_variant {
        replay.movetext(rest)?;
    }
    Ok(Game {
        last_key: packed::key(&packed::pack(&replay.position, 0)),
        result: tags.result.or(replay.result).unwrap_or(GameResult::Unknown),
        white_elo: tags.white_elo,
        black_elo: tags.black_elo,
        base_seconds: tags.base_seconds,
        is_variant: tags.is_variant,
        hash: replay.hash,
        plies: replay.plies,
    })
}

struct Replay {
    position: Chess,
    plies: Vec<Ply>,
    result: Option<GameResult>,
    hash: u64,
    /// The evaluation in the comments since the last move.
    eval: i16,
}

impl Replay {
    fn new(position: Chess) -> Replay {
        let hash = packed::key(&packed::pack(&position, 0));
        Replay { position, plies: Vec::with_capacity(128), result: None, hash, eval: NO_EVAL }
    }

    fn movetext(&mut self, mut text: &[u8]) -> Result<(), String> {
        while let Some(&first) = text.first() {
            let used = match first {
                b'{' => {
                    let end = memchr::memchr(b'}', text).ok_or("a comment has no end")?;
                    if let Some(eval) = eval_in(&text[..end]) {
                        self.eval = eval;
                    }
                    end + 1
                }
                b';' => memchr::memchr(b'\n', text).map_or(text.len(), |at| at + 1),
                b'(' => variation_length(text).ok_or("a variation has no end")?,
                _ if first.is_ascii_whitespace() || matches!(first, b')' | b'}' | b'.') => 1,
                _ => {
                    let end = text
                        .iter()
                        .position(|c| {
                            c.is_ascii_whitespace() || matches!(c, b'{' | b'}' | b'(' | b')' | b';')
                        })
                        .unwrap_or(text.len());
                    if self.token(&text[..end])? {
                        return Ok(());
                    }
                    end
                }
            };
            text = &text[used..];
        }
        Ok(())
    }

    /// Take one word of the movetext; true if it ends the game.
    fn token(&mut self, mut token: &[u8]) -> Result<bool, String> {
        if token[0] == b'$' {
            return Ok(false);
        }
        if let Some(result) = GameResult::parse(token) {
            self.result = Some(result);
            return Ok(true);
        }
        // "12.", "12...", "12.Nf3"; but "0-0" is castling.
        let digits = token.iter().take_while(|c| c.is_ascii_digit()).count();
        let dots = token[digits..].iter().take_while(|c| **c == b'.').count();
        if digits > 0 && (dots > 0 || digits == token.len()) {
            token = &token[digits + dots..];
        }
        while let Some((&(b'!' | b'?' | b'+' | b'#'), head)) = token.split_last() {
            token = head;
        }
        if token.is_empty() || token == b"e.p." {
            return Ok(false);
        }
        self.play(token)?;
        Ok(false)
    }

    fn play(&mut self, token: &[u8]) -> Result<(), String> {
        let unreadable =
            || format!("{:?} is not a move", String::from_utf8_lossy(&token[..token.len().min(24)]));
        let san = match token {
            b"0-0" => San::from_ascii(b"O-O"),
            b"0-0-0" => San::from_ascii(b"O-O-O"),
            _ => San::from_ascii(token),
        }
        .map_err(|_| unreadable())?;
        let m = san.to_move(&self.position).map_err(|error| {
            format!("{error}: {} in {}", String::from_utf8_lossy(token), rules::to_fen(&self.position))
        })?;
        let code = MoveCode::of(m);
        let mut packed = packed::pack(&self.position, 0);
        let key = packed::key(&packed);
        packed[27] = self.earlier(key).min(2) as u8;
        self.plies.push(Ply { packed, key, code, eval: self.eval });
        self.eval = NO_EVAL;
        self.hash = mix(self.hash ^ u64::from(code.0));
        self.position.play_unchecked(m);
        Ok(())
    }

    /// How often `key` stood on the board since the last irreversible move.
    fn earlier(&self, key: u64) -> usize {
        let first = self.plies.len().saturating_sub(self.position.halfmoves() as usize);
        self.plies[first..].iter().filter(|ply| ply.key == key).count()
    }
}

/// The length of a variation in brackets, with those inside it and with comments.
fn variation_length(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0usize);
    while at < text.len() {
        match text[at] {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'{' => at += memchr::memchr(b'}', &text[at..])?,
            b';' => at += memchr::memchr(b'\n', &text[at..])?,
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Game {
        read_game(text.as_bytes()).unwrap()
    }

    #[test]
    fn tags_moves_comments_and_variations_are_told_apart() {
        let game = read(
            "[WhiteElo \"2600\"]\n[Result \"1-0\"]\n\n1. e4 {best} e5 (1... c5 (1... e6) 2. Nf3 {)}) 2.Nf3! $1 Nc6 ; 3. x\n3. Bb5 1-0\n",
        );
        assert_eq!(game.plies.len(), 5);
        assert_eq!(game.white_elo, 2600);
        assert_eq!(game.result, GameResult::Win(Color::White));
    }

    #[test]
    fn an_evaluation_belongs_to_the_position_after_the_move_it_follows() {
        let game = read("1. e4 { [%eval 0.35] } e5 { [%eval #-3] } 2. Nf3 *");
        assert_eq!(game.plies.iter().map(|ply| ply.eval).collect::<Vec<_>>(), [NO_EVAL, 35, -9997]);
    }

    #[test]
    fn repetitions_are_counted_in_the_packed_position() {
        let game = read("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. e4 *");
        assert_eq!(
            game.plies.iter().map(|ply| ply.packed[27]).collect::<Vec<_>>(),
            [0, 0, 0, 0, 1, 1, 1, 1, 2]
        );
    }

    #[test]
    fn an_illegal_move_is_named_with_its_position() {
        let error = read_game(b"1. e4 e5 2. Ke3 *").err().unwrap();
        assert!(error.contains("Ke3") && error.contains("4p3/4P3"), "{error}");
    }

    #[test]
    fn castling_with_zeros_and_black_first_are_read() {
        let game = read("[FEN \"r3k3/8/8/8/8/8/8/4K3 b q - 0 1\"]\n\n1... 0-0-0 2. Ke2 *");
        assert_eq!(game.plies.len(), 2);
    }
}
