// Re-exports the C library to the whole module: an import applies only to its own file, and nearly
// every file needs this one.
#if canImport(Glibc)
  @_exported import Glibc
#elseif canImport(Musl)
  @_exported import Musl
#else
  @_exported import Darwin
#endif
