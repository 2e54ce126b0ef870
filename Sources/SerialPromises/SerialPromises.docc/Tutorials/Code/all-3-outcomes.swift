let manager = PromiseManager()

func publishAll(_ files: [String]) async {
  let handles = files.map { file in
    manager.add(file) { then in publish(file) { error in then(error) } }
  }
  for (file, handle) in zip(files, handles) {
    switch await handle.outcome {
    case .succeeded: show(file, nil)
    case .failed(let error): show(file, error)
    case .cancelled: show(file, CancellationError())
    }
  }
}
