import SerialqSystem

/// The start of a command that a message advises, as the user would call it: `serialq log -q
/// video`.
///
/// Its words follow in the message. Without a queue, the command applies to no queue, or to the one
/// that the user chooses.
package func advised(_ command: String, in queue: String? = nil) -> String {
  "\(program) \(command)\(queue.map { QueueName.option(for: $0) } ?? "")"
}

/// How the user calls this program.
///
/// Words for another machine are also checked on this one.
private let program: String = {
  let host = HostCall.own?.host ?? HostCall.option(in: (try? Machine.arguments()) ?? [])
  // An empty one is this machine.
  return host.flatMap { $0.isEmpty ? nil : $0 }.map { "serialq --host \(ShellQuote.word($0))" }
    ?? "serialq"
}()
