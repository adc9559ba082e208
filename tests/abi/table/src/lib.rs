//! The tables, as they are in `tables/`.

use std::error::Error;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A constant: an enumerator, or a macro that has a value.
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
    /// Its text, if it is a string.
    pub string: String,
}

/// A type.
#[derive(Clone, Debug, Deserialize)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// `struct`, `union`, `enum`, `typedef` or `function_pointer`.
    pub kind: String,
    /// Bytes.
    pub size: usize,
    /// Bytes.
    pub align: usize,
    /// What it is another name of.
    pub underlying: String,
    /// `signed` or `unsigned`, if it is a number.
    pub signedness: String,
    /// What a function pointer points to.
    pub prototype: String,
}

/// A member of a struct or union.
#[derive(Clone, Debug, Deserialize)]
pub struct Field {
    /// The type that it is a member of.
    #[serde(rename = "struct")]
    pub of: String,
    /// Its name, as C programs write it; with parentheses if it has none.
    pub field: String,
    /// Bytes from the start of the type.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// Its C type.
    #[serde(rename = "type")]
    pub c_type: String,
    /// The member without a name that it is in.
    pub within: String,
}

/// An argument of a function, with the function.
#[derive(Clone, Debug, Deserialize)]
pub struct Argument {
    /// The function.
    pub name: String,
    /// What it returns.
    pub return_type: String,
    /// The argument's C type; `...` for a variable number of arguments.
    pub arg_type: String,
    /// `client`, `registry`, `provider_entry`, `ib_inline` or `undeclared`.
    pub role: String,
}

/// A slot of the table of a provider.
#[derive(Clone, Debug, Deserialize)]
pub struct Slot {
    /// Bytes from the start of the table.
    pub offset: usize,
    /// Its name.
    pub field: String,
    /// Its C type.
    #[serde(rename = "type")]
    pub c_type: String,
}

/// A macro that takes parameters.
#[derive(Clone, Debug, Deserialize)]
pub struct Macro {
    /// Its name.
    pub name: String,
    /// What it takes, separated by semicolons.
    pub parameters: String,
    /// `redirection`, `ib_extension`, or something that is tested by hand.
    pub group: String,
    /// The slot that a redirection calls.
    pub calls: String,
    /// The first argument of what is called, with its type.
    pub handle: String,
    /// The operation that an extension calls.
    pub op: String,
    /// The other arguments in their order, with their types, separated by semicolons.
    pub arguments: String,
}

/// All tables of a version.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Constants.
    pub constants: Vec<Constant>,
    /// Types.
    pub types: Vec<Type>,
    /// Members of types.
    pub fields: Vec<Field>,
    /// Functions, a row an argument.
    pub arguments: Vec<Argument>,
    /// The table of a provider.
    pub slots: Vec<Slot>,
    /// Macros with parameters.
    pub macros: Vec<Macro>,
}

impl Tables {
    /// Reads the tables in a folder.
    ///
    /// # Errors
    ///
    /// A file that is missing, empty or not of the form above.
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
