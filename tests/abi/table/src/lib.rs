//! The tables, as they are in `tables/`.

use std::error::Error;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A constant: an enumerator, or a macro with a value.
#[derive(Clone, Debug, Deserialize)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// `enum` or `define`.
    pub kind: String,
    /// The C type of the expression; `string` for a string.
    pub c_type: String,
    /// Its value, if it is a number or a pointer.
    pub value_dec: Option<i128>,
    /// Its value, if it is a string.
    pub string: String,
}

/// A type.
#[derive(Clone, Debug, Deserialize)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// `struct`, `union`, `enum`, `typedef` or `function_pointer`.
    pub kind: String,
    /// Size, in bytes.
    pub size: usize,
    /// Alignment, in bytes.
    pub align: usize,
    /// The type that it is an alias of.
    pub underlying: String,
    /// `signed` or `unsigned`, if it is a number.
    pub signedness: String,
    /// The function type of a function pointer.
    pub prototype: String,
}

/// A member of a struct or union.
#[derive(Clone, Debug, Deserialize)]
pub struct Field {
    /// The type that contains it.
    #[serde(rename = "struct")]
    pub of: String,
    /// Its name, as C programs write it; with parentheses if it has none.
    pub field: String,
    /// Offset in the type, in bytes.
    pub offset: usize,
    /// Size, in bytes.
    pub size: usize,
    /// Its C type.
    #[serde(rename = "type")]
    pub c_type: String,
    /// The unnamed member that contains it.
    pub within: String,
}

/// An argument of a function.
#[derive(Clone, Debug, Deserialize)]
pub struct Argument {
    /// The function.
    pub name: String,
    /// Its return type.
    pub return_type: String,
    /// The argument's C type; `...` for a variable number of arguments.
    pub arg_type: String,
    /// `client`, `registry`, `provider_entry`, `ib_inline` or `undeclared`.
    pub role: String,
}

/// A slot of the provider table.
#[derive(Clone, Debug, Deserialize)]
pub struct Slot {
    /// Offset in the table, in bytes.
    pub offset: usize,
    /// Its name.
    pub field: String,
    /// Its C type.
    #[serde(rename = "type")]
    pub c_type: String,
}

/// A macro with parameters.
#[derive(Clone, Debug, Deserialize)]
pub struct Macro {
    /// Its name.
    pub name: String,
    /// Its parameters, separated by semicolons.
    pub parameters: String,
    /// `redirection`, `ib_extension`, or another kind, which has tests of its own.
    pub group: String,
    /// The slot that a redirection calls.
    pub calls: String,
    /// The first argument of the called function, with its type.
    pub handle: String,
    /// The operation code of an extension.
    pub op: String,
    /// The other arguments with their types, in order, separated by semicolons.
    pub arguments: String,
}

/// All tables of a version.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Constants.
    pub constants: Vec<Constant>,
    /// Types.
    pub types: Vec<Type>,
    /// Members.
    pub fields: Vec<Field>,
    /// Functions, one row per argument.
    pub arguments: Vec<Argument>,
    /// The provider table.
    pub slots: Vec<Slot>,
    /// Macros with parameters.
    pub macros: Vec<Macro>,
}

impl Tables {
    /// Reads the tables in a folder.
    ///
    /// # Errors
    ///
    /// If a file is missing, empty or malformed.
    pub fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            constants: rows(folder, "constants")?,
            types: rows(folder, "types")?,
            fields: rows(folder, "fields")?,
            arguments: rows(folder, "functions")?,
            slots: rows(folder, "provider_table")?,
            macros: rows(folder, "macros")?,
        })
    }
}

fn rows<T: DeserializeOwned>(folder: &Path, table: &str) -> Result<Vec<T>, Box<dyn Error>> {
    let path = folder.join(table).with_extension("csv");
    let mut reader =
        csv::Reader::from_path(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let rows: Result<Vec<T>, _> = reader.deserialize().collect();
    let rows = rows.map_err(|e| format!("{}: {e}", path.display()))?;
    if rows.is_empty() {
        return Err(format!("{}: no rows", path.display()).into());
    }
    Ok(rows)
}
