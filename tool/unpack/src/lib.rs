//! What others have compressed: modules and kernels.
//!
//! A crate of its own because the decompressors are generic: they are compiled with who calls
//! them, and the lab does not optimize the tool.

use std::io::{self, BufReader, Read, Write};

/// How something is compressed.
#[allow(missing_docs, reason = "their names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Lzma,
    Xz,
    Zstd,
}

/// Unpack all of `input`; what `output` refuses ends it.
pub fn unpack(
    packing: Packing,
    input: &mut dyn Read,
    mut output: &mut dyn Write,
) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    match packing {
        Packing::Gzip => {
            io::copy(
                &mut flate2::bufread::MultiGzDecoder::new(input),
                &mut output,
            )?;
        }
        Packing::Lzma => {
            lzma_rs::lzma_decompress(&mut input, &mut output).map_err(lzma_error)?;
        }
        Packing::Xz => {
            lzma_rs::xz_decompress(&mut input, &mut output).map_err(lzma_error)?;
        }
        Packing::Zstd => {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(input)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
            io::copy(&mut decoder, &mut output)?;
        }
    }
    Ok(())
}

fn lzma_error(error: lzma_rs::error::Error) -> io::Error {
    match error {
        lzma_rs::error::Error::IoError(e) => e,
        other => io::Error::new(io::ErrorKind::InvalidData, format!("{other:?}")),
    }
}
