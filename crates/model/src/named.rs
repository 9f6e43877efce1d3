//! Enums whose variants have a stable name each, declared beside it.

/// Declares an enum with a name for each variant, as JSON and the command line write it: `ALL` in the order of declaration,
/// `name`, `named` the other way about, and `Display` by name.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $type { $($(#[$doc])* $variant),+ }

        impl $type {
            /// Every one, in the order of declaration.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The stable name, as JSON and the command line write it.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }

            /// The one of this name.
            pub fn named(name: &str) -> Option<$type> {
                $type::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
