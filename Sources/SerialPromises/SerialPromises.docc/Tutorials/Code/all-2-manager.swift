let manager = PromiseManager()

func publishAll(_ files: [String]) {
  for file in files {
    manager.add { then in
      publish(file) { error in then(error) }
    }
  }
}
