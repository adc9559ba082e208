//! Compares the Rust types and constants with the tables.

use std::collections::BTreeMap;

use crate::Version;
use dat_abi_table::Tables;

/// A type's size, alignment and, for numbers, whether it is signed.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    size: usize,
    align: usize,
    signed: Option<bool>,
}

#[derive(Debug, PartialEq, Eq)]
enum Value {
    Number(i128),
    Text(String),
}

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    types: BTreeMap<&'static str, Layout>,
    /// Offset and size, by type and member.
    fields: BTreeMap<(&'static str, &'static str), (usize, usize)>,
    constants: BTreeMap<&'static str, Value>,
}

impl Measured {
    /// Measures the types of a version.
    #[must_use]
    pub fn of(version: Version) -> Self {
        match version {
            Version::V1 => v1::measure(),
            Version::V2 => v2::measure(),
        }
    }

    /// Puts what was measured in place of the sizes, alignments and offsets of the tables.
    ///
    /// # Panics
    ///
    /// If the table has a name that Rust does not have.
    pub fn replace_layouts(&self, tables: &mut Tables) {
        for row in &mut tables.types {
            let Layout { size, align, .. } = self.types[&*row.name];
            (row.size, row.align) = (size, align);
        }
        for row in &mut tables.fields {
            (row.offset, row.size) = self.fields[&(&*row.of, &*row.field)];
        }
        for row in &mut tables.slots {
            row.offset = row.offset / size_of::<u64>() * size_of::<usize>();
        }
    }

    /// The differences from the tables, each with its row.
    #[must_use]
    pub fn differences(&self, tables: &Tables) -> Vec<String> {
        let mut out = Vec::new();
        for row in &tables.types {
            let signed = match row.signedness.as_str() {
                "" => None,
                sign => Some(sign == "signed"),
            };
            let wanted = Layout { size: row.size, align: row.align, signed };
            compare(&mut out, &format!("type {}", row.name), self.types.get(&*row.name), &wanted);
        }
        for row in &tables.fields {
            let found = self.fields.get(&(&*row.of, &*row.field));
            let name = format!("member {}.{}", row.of, row.field);
            compare(&mut out, &name, found, &(row.offset, row.size));
        }
        for row in &tables.constants {
            let wanted = match row.value_dec {
                Some(value) => Value::Number(value),
                None => Value::Text(row.string.clone()),
            };
            let found = self.constants.get(&*row.name);
            compare(&mut out, &format!("constant {}", row.name), found, &wanted);
        }
        out
    }
}

fn compare<T: PartialEq + std::fmt::Debug>(
    out: &mut Vec<String>,
    name: &str,
    found: Option<&T>,
    wanted: &T,
) {
    if found != Some(wanted) {
        out.push(format!("{name}: {found:?}, but the table has {wanted:?}"));
    }
}

/// The size of a pointer's target.
const fn size_behind<T>(_: *const T) -> usize {
    size_of::<T>()
}

macro_rules! layout {
    (number $name:ident) => {
        Layout {
            size: size_of::<$name>(),
            align: align_of::<$name>(),
            signed: Some(i128::from($name::MIN) < 0),
        }
    };
    (other $name:ident) => {
        Layout { size: size_of::<$name>(), align: align_of::<$name>(), signed: None }
    };
}

macro_rules! value {
    (number $name:ident) => {
        Value::Number($name as i128)
    };
    (pointer $name:ident) => {
        Value::Number($name.addr() as i128)
    };
    (string $name:ident) => {
        Value::Text($name.to_string_lossy().into_owned())
    };
}

macro_rules! measurements {
    (
        types { $($form:ident $type:ident;)* }
        fields { $($field:literal $of:ident ($($path:tt)*);)* }
        constants { $($kind:ident $constant:ident;)* }
    ) => {
        pub(super) fn measure() -> Measured {
            let types = [$((stringify!($type), layout!($form $type))),*];
            let fields = [$({
                let place = MaybeUninit::<$of>::uninit();
                let start = place.as_ptr();
                // SAFETY: the address of a member inside of `place`, of which nothing is read.
                let size = size_behind(unsafe { &raw const (*start).$($path)* });
                ((stringify!($of), $field), (offset_of!($of, $($path)*), size))
            }),*];
            let constants = [$((stringify!($constant), value!($kind $constant))),*];
            Measured {
                types: types.into(),
                fields: fields.into(),
                constants: constants.into(),
            }
        }
    };
}

mod v1 {
    use std::mem::{MaybeUninit, offset_of};

    use super::{Layout, Measured, Value, size_behind};
    use crate::abi_v1::*;

    include!(concat!(env!("OUT_DIR"), "/v1.rs"));
}

mod v2 {
    use std::mem::{MaybeUninit, offset_of};

    use super::{Layout, Measured, Value, size_behind};
    use crate::abi_v2::*;

    include!(concat!(env!("OUT_DIR"), "/v2.rs"));
}
