func compress(_ file: String) -> Promise<String> {
  Promise { resolve, reject in
    compress(file) { data, error in
      if let data { resolve(data) } else { reject(error ?? NoAnswer()) }
    }
  }
}

func upload(_ data: String) -> Promise<String> {
  Promise { resolve, reject in
    upload(data) { link, error in
      if let link { resolve(link) } else { reject(error ?? NoAnswer()) }
    }
  }
}

func announce(_ link: String) -> Promise<Void> {
  Promise { resolve, reject in
    announce(link) { error in
      if let error { reject(error) } else { resolve(()) }
    }
  }
}
