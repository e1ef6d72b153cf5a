//! Arrays from files and to files.
