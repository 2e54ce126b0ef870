func publishAll(_ files: [String]) {
  for file in files {
    publish(file) { error in show(file, error) }
  }
}
