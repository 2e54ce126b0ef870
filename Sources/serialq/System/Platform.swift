// The C library, imported here for the whole program: an import counts for its own file alone, and
// nearly every file here needs this one.
#if canImport(Glibc)
  @_exported import Glibc
#elseif canImport(Musl)
  @_exported import Musl
#else
  @_exported import Darwin
#endif
