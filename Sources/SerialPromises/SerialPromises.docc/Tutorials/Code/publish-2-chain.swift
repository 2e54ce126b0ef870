func publish(_ file: String) -> Promise<Void> {
  compress(file)
    .then { data in upload(data) }
    .then { link in announce(link) }
}
