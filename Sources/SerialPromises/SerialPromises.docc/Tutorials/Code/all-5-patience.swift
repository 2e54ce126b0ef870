let manager = PromiseManager()

func publishAll(_ files: [String]) async throws {
  let promises = files.map { file in
    publish(file)
      .retry(2, delay: .seconds(1))
      .timeout(.seconds(600))
  }
  _ = try await manager.serially(promises).value
}
