let manager = PromiseManager()

func publishAll(_ files: [String]) async throws {
  let promises = files.map { file in
    publish(file)
  }
  _ = try await manager.serially(promises).value
}
