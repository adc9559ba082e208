//! The headers of a shared object, read without loading it, so that none of its code runs.

use std::env::consts::ARCH;

use object::elf::{DT_NEEDED, FileHeader32, FileHeader64};
use object::read::elf::{Dyn, ElfFile, FileHeader};
use object::{Architecture, Endianness, FileKind, Object, ObjectSymbol};

/// A shared object.
#[derive(Debug)]
pub(crate) struct Image {
    /// The libraries that it depends on.
    pub(crate) needed: Vec<String>,
    symbols: Vec<String>,
    architecture: Architecture,
}

impl Image {
    /// Parses a file; fails with the reason.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let image = match FileKind::parse(bytes) {
            Ok(FileKind::Elf64) => read::<FileHeader64<Endianness>>(bytes),
            Ok(FileKind::Elf32) => read::<FileHeader32<Endianness>>(bytes),
            _ => return Err("not an ELF file".to_owned()),
        };
        image.map_err(|error| format!("damaged: {error}"))
    }

    /// Returns true if a program for this processor can load it.
    pub(super) fn fits(&self) -> bool {
        let own = match ARCH {
            "x86" => Architecture::I386,
            "x86_64" => Architecture::X86_64,
            "arm" => Architecture::Arm,
            "aarch64" => Architecture::Aarch64,
            "riscv64" => Architecture::Riscv64,
            "powerpc64" => Architecture::PowerPc64,
            "s390x" => Architecture::S390x,
            // The processor of this program is not known to the check.
            _ => return true,
        };
        self.architecture == own
    }

    /// Returns true if it defines a symbol.
    pub(crate) fn defines(&self, symbol: &str) -> bool {
        self.symbols.iter().any(|name| name == symbol)
    }
}

fn read<Elf: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> object::Result<Image> {
    let file = ElfFile::<Elf>::parse(bytes)?;
    let endian = file.endian();
    let sections = file.elf_section_table();
    let mut needed = Vec::new();
    if let Some((entries, index)) = sections.dynamic(endian, bytes)? {
        let strings = sections.strings(endian, bytes, index)?;
        for entry in entries.iter().filter(|entry| entry.tag32(endian) == Some(DT_NEEDED)) {
            needed.push(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
        }
    }
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    Ok(Image {
        needed,
        symbols: defined.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect(),
        architecture: file.architecture(),
    })
}
