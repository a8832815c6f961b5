//! What can go wrong, told apart: malformed text, illegal chess, and the world outside.

use std::fmt;

#[derive(Debug)]
pub enum Error {
    /// The text or bytes cannot be read as what they should be.
    Malformed(String),
    /// Well formed, but the rules of chess forbid it.
    Illegal(String),
    /// A file could not be read or written.
    Io(std::io::Error, String),
    /// A teacher engine is missing, died, hung or answered nonsense.
    Teacher(String),
}

pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Malformed(text) | Error::Illegal(text) | Error::Teacher(text) => f.write_str(text),
            Error::Io(error, path) => write!(f, "{path}: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// For `map_err`: an I/O error together with the file it happened to.
    pub fn io(path: impl AsRef<std::path::Path>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.as_ref().display().to_string();
        move |error| Error::Io(error, path)
    }
}
