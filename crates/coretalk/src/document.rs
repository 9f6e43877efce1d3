//! The JSON document: wire types, apart from the domain types.
