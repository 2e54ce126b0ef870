func publish(
  _ file: String, _ done: @escaping @Sendable ((any Error)?) -> Void
) {
  compress(file) { data, error in
    guard let data else { return done(error) }
    upload(data) { link, error in
      guard let link else { return done(error) }
      announce(link) { error in
        done(error)
      }
    }
  }
}
