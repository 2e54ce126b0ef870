// Re-exports the C library to the whole module: an import applies only to its own file, and nearly
// every file needs this one.
#if canImport(Glibc)
  @_exported @preconcurrency import Glibc
#else
  @_exported @preconcurrency import Darwin
#endif

/// All `NAME=VALUE` entries of the environment, from `environ(7)`.
///
/// Needs no lock, because the program changes its environment only before it starts a thread.
var environmentEntries: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> { environ }
