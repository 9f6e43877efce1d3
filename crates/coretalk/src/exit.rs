//! Exit codes and the classes of errors that lead to them.
