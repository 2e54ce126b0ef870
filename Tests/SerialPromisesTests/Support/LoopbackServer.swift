#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A local HTTP server that returns the requested path in each response.
final class LoopbackServer: Sendable {
  struct Failure: Error { var call: String }

  let port: UInt16
  private let listener: Int32

  /// Listens on a free port, and responds on its own thread until `close()`.
  init() throws {
    let listener = try Self.makeSocket()
    var address = Self.address(port: 0)
    let bound = Self.call(&address) { bind(listener, $0, $1.pointee) }
    guard bound == 0, listen(listener, 8) == 0 else { throw Failure(call: "bind") }
    let named = Self.call(&address) { getsockname(listener, $0, $1) }
    guard named == 0 else { throw Failure(call: "getsockname") }
    port = UInt16(bigEndian: address.sin_port)
    self.listener = listener
    onOwnThread { Self.serve(listener) }
  }

  /// Stops the server; a pending accept fails.
  func close() {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private static func serve(_ listener: Int32) {
    while case let connection = accept(listener, nil, nil), connection >= 0 {
      let request = read(connection)
      let path = request.split(separator: " ").dropFirst().first ?? "/"
      let status = path == "/missing" ? "404 Not Found" : "200 OK"
      write(
        connection,
        "HTTP/1.0 \(status)\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
      end(connection)
    }
    end(listener)
  }

  /// Requests a path, and blocks until the response arrives.
  func get(_ path: String) throws -> String {
    let connection = try Self.makeSocket()
    defer { Self.end(connection) }
    var address = Self.address(port: port)
    let connected = Self.call(&address) { connect(connection, $0, $1.pointee) }
    guard connected == 0 else { throw Failure(call: "connect") }
    Self.write(connection, "GET \(path) HTTP/1.0\r\n\r\n")
    var answer = ""
    while case let part = Self.read(connection), !part.isEmpty { answer += part }
    guard answer.hasPrefix("HTTP/1.0 200") else { throw Failure(call: "GET \(path)") }
    return String(answer.split(separator: "\r\n", omittingEmptySubsequences: true).last ?? "")
  }

  // MARK: Sockets

  private static func makeSocket() throws -> Int32 {
    #if canImport(Glibc)
      let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let socket = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard socket >= 0 else { throw Failure(call: "socket") }
    return socket
  }

  private static func address(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// Calls a function that takes an address and its size.
  private static func call(
    _ address: inout sockaddr_in,
    _ function: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> Int32 {
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { function($0, &size) }
    }
  }

  private static func read(_ socket: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(socket, &buffer, buffer.count, 0)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  private static func write(_ socket: Int32, _ text: String) {
    let bytes = Array(text.utf8)
    _ = send(socket, bytes, bytes.count, 0)
  }

  private static func end(_ socket: Int32) {
    #if canImport(Darwin)
      _ = Darwin.close(socket)
    #elseif canImport(Glibc)
      _ = Glibc.close(socket)
    #else
      _ = Musl.close(socket)
    #endif
  }
}
