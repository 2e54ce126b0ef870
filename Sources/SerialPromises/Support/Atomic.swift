// `OLDEST_SYSTEMS` gives Linux what the oldest supported systems of Apple get, so that the tests
// can run on it.

#if canImport(Darwin) || OLDEST_SYSTEMS
  /// Whether a lock protects the value of an `Atomic`.
  let atomicsAreLocks = true

  /// A value that several threads read and change in single steps.
  ///
  /// A lock protects it, because `Synchronization.Atomic` needs macOS 15 and iOS 18: not for signal
  /// handlers. Every operation is at least as strong as `ordering` says.
  package struct Atomic<Value>: Sendable {
    package enum Ordering {
      case relaxed, acquiring, releasing, acquiringAndReleasing, sequentiallyConsistent
    }

    // Sendable as `Locked`, the only access to the value.
    private let value: Locked<Value>

    package init(_ initial: Value) { value = Locked(initial) }

    package func load(ordering: Ordering) -> Value { value.withLock { $0 } }

    package func store(_ desired: Value, ordering: Ordering) { value.withLock { $0 = desired } }

    package func exchange(_ desired: Value, ordering: Ordering) -> Value {
      value.withLock { value in
        let original = value
        value = desired
        return original
      }
    }
  }

  extension Atomic where Value: Equatable {
    package func compareExchange(
      expected: Value, desired: Value, ordering: Ordering
    ) -> (exchanged: Bool, original: Value) {
      value.withLock { value in
        let original = value
        if original == expected { value = desired }
        return (original == expected, original)
      }
    }
  }
#else
  import Synchronization

  let atomicsAreLocks = false

  package typealias Atomic<Value: AtomicRepresentable> = Synchronization.Atomic<Value>
#endif

/// Whether there is no other reference to the object; then all that others did with it has
/// happened.
@inline(__always)
func isOnlyReference<Object: AnyObject>(_ object: inout Object?) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  // The check has no acquire semantics: without the fence, what another thread did before it
  // released its reference could be missed. With locks none is needed: the state of the object is
  // read under its own lock, which no processor takes before the check is decided, and which the
  // other thread unlocked before it released its reference.
  #if !(canImport(Darwin) || OLDEST_SYSTEMS)
    atomicMemoryFence(ordering: .acquiring)
  #endif
  return true
}
