func compress(_ file: String) -> Promise<String> {
  Promise { resolve, reject in
    compress(file) { data, error in
      if let data { resolve(data) } else { reject(error ?? NoAnswer()) }
    }
  }
}
