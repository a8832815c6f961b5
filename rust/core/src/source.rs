//! A file of games as a stream of bytes, whatever it is compressed with.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Counts the compressed bytes that were read, for progress.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Open a plain, .gz, .bz2 or .zst file; the counter follows the bytes read from disk.
pub fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Arc<AtomicU64>)> {
    let count = Arc::new(AtomicU64::new(0));
    let file = Counted { inner: File::open(path).map_err(Error::io(path))?, count: Arc::clone(&count) };
    let file = BufReader::with_capacity(1 << 18, file);
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let reader: Box<dyn Read + Send> = match extension {
        "zst" => Box::new(zstd::stream::read::Decoder::with_buffer(file).map_err(Error::io(path))?),
        "gz" => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        "bz2" => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        _ => Box::new(file),
    };
    Ok((reader, count))
}
