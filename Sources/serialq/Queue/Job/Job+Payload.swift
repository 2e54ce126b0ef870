import SerialqSystem

extension Job {
  package var command: Command { payload.command }
  package var context: ExecutionContext { payload.context }
  package var label: Bytes? { payload.label }
  package var key: Bytes? { payload.key }
  package var input: Input? { payload.input }
  package var terminal: JobTerminal? { payload.terminal }
}
