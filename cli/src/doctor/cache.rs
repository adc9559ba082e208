//! The loader cache, `/etc/ld.so.cache`, in the format of the GNU C library.

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// A cache for older loaders may precede the current one.
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
const OLD_ENTRY: usize = 12;
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// The files in the cache by name, in the order of the cache.
pub(crate) fn parse(bytes: &[u8]) -> Vec<(String, String)> {
    entries(bytes).unwrap_or_default()
}

fn entries(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    // Offsets of names are relative to this position.
    let cache = if bytes.starts_with(OLD_MAGIC) {
        let count = word(bytes, OLD_MAGIC.len().next_multiple_of(4))?;
        let end = count.checked_mul(OLD_ENTRY)?.checked_add(16)?;
        bytes.get(end.checked_next_multiple_of(8)?..)?
    } else {
        bytes
    };
    if !cache.starts_with(MAGIC) {
        return None;
    }
    let count = word(cache, MAGIC.len())?;
    let entry = |entry: &[u8]| Some((text(cache, word(entry, 4)?)?, text(cache, word(entry, 8)?)?));
    Some(cache.get(HEADER..)?.chunks_exact(ENTRY).take(count).filter_map(entry).collect())
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_ne_bytes(word.try_into().ok()?)).ok()
}

/// The NUL-terminated text at a position.
fn text(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with one entry.
    fn cache(name: &str, path: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let names = u32::try_from(HEADER + ENTRY).unwrap();
        let words = [1, 0, 0, 0, 0, 0, 0, 0x303, names, names + name.len() as u32 + 1, 0, 0, 0];
        bytes.extend(words.iter().flat_map(|word: &u32| word.to_ne_bytes()));
        bytes.extend(format!("{name}\0{path}\0").bytes());
        bytes
    }

    #[test]
    fn a_name_has_its_file() {
        let one = [("libx.so.1".to_owned(), "/opt/libx.so.1".to_owned())];
        let new = cache("libx.so.1", "/opt/libx.so.1");
        assert_eq!(parse(&new), one);
        let mut both = OLD_MAGIC.to_vec();
        both.extend([0; 5]);
        both.extend(&new);
        assert_eq!(parse(&both), one);
    }

    #[test]
    fn any_damage_leaves_fewer_names() {
        let whole = cache("libx.so.1", "/opt/libx.so.1");
        for length in 0..whole.len() {
            assert!(parse(&whole[..length]).is_empty(), "{length}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            assert!(parse(&bytes).len() <= 1, "{at}");
        }
    }
}
