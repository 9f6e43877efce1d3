/// Declares an enum with a name for each variant, as in JSON and on the command line. Adds `ALL` in the order of
/// declaration, `name`, its inverse `named`, and `Display`.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $type { $($(#[$doc])* $variant),+ }

        impl $type {
            /// All variants, in the order of declaration.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The stable name, as in JSON and on the command line.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }

            /// The variant with this name.
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
