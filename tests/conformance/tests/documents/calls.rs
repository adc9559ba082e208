//! The calls of DAT 2.0 and its InfiniBand extensions, as `data/calls.csv` lists them.

const TABLE: &str = include_str!("../../data/calls.csv");

/// A call of the API.
pub(crate) struct Call {
    /// Its name in C.
    pub(crate) name: &'static str,
    /// Which tests outside of the suite prove it; empty if there are none.
    pub(crate) elsewhere: &'static str,
}

/// Every call, in alphabetical order.
pub(crate) fn all() -> Vec<Call> {
    let call = |line: &'static str| {
        let mut fields = line.splitn(3, ',');
        let name = fields.next().expect("a name");
        Call { name, elsewhere: fields.nth(1).expect("three fields") }
    };
    TABLE.lines().skip(1).map(call).collect()
}

impl Call {
    /// Returns true if a text names the call or its manual page, and not just a longer name.
    pub(crate) fn is_named_in(&self, text: &str) -> bool {
        // `dat_ia_open` is a macro over this call, and the page has the name of the macro.
        let page = if self.name == "dat_ia_openv" { "dat_ia_open" } else { self.name };
        text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
            .any(|word| word == self.name || word == page)
    }
}
