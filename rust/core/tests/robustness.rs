//! Whatever bytes come in, the readers answer with a value or an error: never a panic.

use proptest::prelude::*;
use shakmaty::{Chess, Position};
use tabiya_core::encode::{View, legal_mask, planes, tokens};
use tabiya_core::move_code::MoveCode;
use tabiya_core::move_index::Space;
use tabiya_core::{game::Game, packed, pgn, rules, split::Splitter};

/// Text that looks like PGN often enough to reach every branch.
fn almost_pgn() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("1."),
        Just("1..."),
        Just("e4"),
        Just("Nf3"),
        Just("O-O"),
        Just("0-0-0"),
        Just("exd8=Q+"),
        Just("{ [%eval 0.3] }"),
        Just("{ [%eval #-"),
        Just("{"),
        Just("}"),
        Just("("),
        Just(")"),
        Just(";"),
        Just("$5"),
        Just("1-0"),
        Just("1/2-1/2"),
        Just("*"),
        Just("\n"),
        Just("\n\n"),
        Just("[Event \"x\"]\n"),
        Just("[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]\n"),
        Just("[FEN \"4k3/8/8/8/8/8/8/4K3 b - - 0 1\"]\n"),
        Just("[TimeControl \"40/:+\"]\n"),
        Just("[WhiteElo \"-1\"]\n"),
        Just("%"),
        Just("\u{feff}"),
        Just("é"),
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

/// A position some random moves into a game.
fn played(choices: &[u16]) -> Game {
    let mut game = Game::new(Chess::default());
    for &choice in choices {
        let moves = game.position().legal_moves();
        if moves.is_empty() {
            break;
        }
        game.push(moves[usize::from(choice) % moves.len()]);
    }
    game
}

proptest! {
    #[test]
    fn any_bytes_are_a_game_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = pgn::read_game(&bytes);
    }

    #[test]
    fn almost_pgn_is_a_game_or_an_error(text in almost_pgn()) {
        if let Ok(game) = pgn::read_game(text.as_bytes()) {
            for ply in &game.plies {
                prop_assert!(packed::unpack(&ply.packed).is_ok());
            }
        }
    }

    #[test]
    fn the_splitter_loses_no_text(text in almost_pgn()) {
        let mut splitter = Splitter::new(text.as_bytes(), 0);
        let mut joined: Vec<u8> = Vec::new();
        while let Some(chunk) = splitter.next_chunk().unwrap() {
            for game in chunk.games() {
                joined.extend(game.bytes.iter().filter(|c| !c.is_ascii_whitespace()));
            }
        }
        let expected: Vec<u8> = text.bytes().filter(|c| !c.is_ascii_whitespace()).collect();
        prop_assert_eq!(joined, expected);
    }

    #[test]
    fn any_text_is_a_fen_or_an_error(text in "[rnbqkpRNBQKP1-8/ wb\\-KQkqa-h0-9]{0,90}") {
        let _ = rules::from_fen(&text);
    }

    #[test]
    fn any_32_bytes_are_a_position_or_an_error(bytes in prop::array::uniform32(any::<u8>())) {
        let mut out = [0u8; 64 * 73];
        planes(&bytes, View::Mover, &mut out[..18 * 64]);
        tokens(&bytes, View::Mover, &mut [0i16; 84]);
        let _ = legal_mask(&bytes, Space::Planes, View::Mover, &mut out);
    }

    #[test]
    fn any_word_is_a_move_or_an_error(word in "\\PC{0,8}", choices in prop::collection::vec(any::<u16>(), 0..80)) {
        let game = played(&choices);
        let _ = rules::parse_move(game.position(), &word);
        let _ = rules::parse_uci(game.position(), &word);
    }

    #[test]
    fn every_legal_move_survives_each_space(choices in prop::collection::vec(any::<u16>(), 0..120)) {
        let game = played(&choices);
        for space in [Space::Planes, Space::Uci, Space::FromTo] {
            for flip in [false, true] {
                for &m in &game.position().legal_moves() {
                    let index = space.index(MoveCode::of(m), flip).unwrap();
                    prop_assert_eq!(space.to_move(game.position(), index, flip), Some(m));
                }
            }
        }
    }

    #[test]
    fn a_played_position_survives_packing(choices in prop::collection::vec(any::<u16>(), 0..300)) {
        let game = played(&choices);
        let back = packed::unpack(&game.packed()).unwrap();
        prop_assert_eq!(rules::to_fen(&back), rules::to_fen(game.position()));
    }
}
