import Testing

@testable import SerialPromises

/// Moves a file, unless it is missing.
private func keep(_ file: String) throws -> String {
  if file == "missing" { throw Missing() }
  return "kept \(file)"
}

/// The examples of the article on delegates.
@MainActor
@Suite(.serialized)
struct WrapADelegateExamples {
  private let reports = Reports()
  private let alerts: PromiseManager
  private let screen = Screen()
  private let log = Log<String>()

  init() { alerts = PromiseManager(diagnostics: reports.place) }

  nonisolated private func note(_ text: String) { log.append(text) }

  @MainActor
  func show(_ message: String) {
    alerts.add { then in
      let alert = AlertController(title: message)
      alert.addAction(AlertAction(title: "OK") { _ in then() })
      screen.present(alert, animated: true)
    }
  }

  @MainActor
  func ask(_ question: String) -> Promise<Bool> {
    let answer = Promise<Bool> { deferred in
      let alert = AlertController(title: question)
      alert.addAction(AlertAction(title: "Yes") { _ in deferred.fulfill(true) })
      alert.addAction(AlertAction(title: "No") { _ in deferred.fulfill(false) })
      deferred.onCancel { [weak alert] in alert?.dismiss(animated: true) }
      screen.present(alert, animated: true)
    }
    alerts.add(answer)
    return answer
  }

  // Hangs if the second alert is shown while the first one is. Fails if an alert is not released.
  @Test("an alert waits until the one before it was answered")
  func alertsInOrder() async throws {
    show("Saved")
    let deletes = ask("Delete?")
    let quits = ask("Quit?")
    await screen.shows("Saved")
    let first = Watched(try #require(screen.alert))
    #expect(alerts.waitingCount == 2)
    screen.press("OK")
    await screen.shows("Delete?")
    let second = Watched(try #require(screen.alert))
    screen.press("Yes")
    #expect(try await deletes.value)
    await screen.shows("Quit?")
    screen.press("No")
    #expect(try await !quits.value)
    await alerts.idle()
    #expect(screen.titles == ["Saved", "Delete?", "Quit?"])
    #expect(first.isGone && second.isGone)
  }

  // Hangs if an alert without an answer keeps the next one waiting: with a cancel handler that
  // retains it.
  @Test("an alert that is dismissed without an answer fails its step, and the next one is shown")
  func dismissed() async {
    show("Saved")
    let answer = ask("Delete?")
    await screen.shows("Saved")
    screen.alert?.dismiss(animated: true)
    await screen.shows("Delete?")
    #expect(reports.all.map { "\($0)" }.contains { $0.contains("then") })
    screen.alert?.dismiss(animated: true)
    await #expect(throws: PromiseError.self) { try await answer.value }
    await alerts.idle()
  }

  // Hangs if the cancellation does not dismiss the alert. Fails if a canceled alert is shown.
  @Test("a canceled question disappears, or is never shown")
  func canceledQuestion() async {
    let (first, second, third) = (ask("First?"), ask("Second?"), ask("Third?"))
    await screen.shows("First?")
    second.cancel()
    first.cancel()
    await screen.shows("Third?")
    screen.press("Yes")
    #expect(await third.outcome == "true")
    #expect(await second.outcome == "failed CancellationError()")
    await alerts.idle()
    #expect(screen.titles == ["First?", "Third?"])
  }

  @MainActor
  final class Locator: @MainActor LocationManagerDelegate {
    private let source = LocationManager()
    private let deferred: Deferred<Location>

    init(_ deferred: Deferred<Location>) {
      self.deferred = deferred
      source.delegate = self
      source.startUpdatingLocation()
    }

    func stop() { source.stopUpdatingLocation() }

    func locationManager(_ manager: LocationManager, didUpdateLocations locations: [Location]) {
      guard let good = locations.last(where: { 0..<100 ~= $0.horizontalAccuracy }) else { return }
      if deferred.tryFulfill(good) { stop() }
    }

    func locationManager(_ manager: LocationManager, didFailWithError error: any Error) {
      if deferred.tryFail(error) { stop() }
    }
  }
  @MainActor
  func location() -> Promise<Location> {
    Promise { deferred in
      let locator = Locator(deferred)
      deferred.onCancel { locator.stop() }  // retains the delegate until the promise is settled
    }
  }

  /// The location manager that has started, and a weak reference to its delegate.
  private func started(_ promise: Promise<Location>) async throws -> (LocationManager, Watched) {
    LocationManager.latest = nil
    promise.start()
    while LocationManager.latest == nil { await Task.yield() }
    let source = try #require(LocationManager.latest)
    LocationManager.latest = nil
    #expect(source.isUpdating)
    return (source, Watched(try #require(source.delegate as? Locator)))
  }

  // Fails if a bad location counts, a later call counts, the updates continue, or the delegate is
  // not released; or if nothing retains it while it waits.
  @Test("the first good location fulfills the promise, and stops the updates")
  func goodLocation() async throws {
    let here = location().timeout(.seconds(10))
    let (source, locator) = try await started(here)
    let delegate = source.delegate
    for accuracy in [5000, -1, 50, 10] {
      #expect(source.isUpdating == (accuracy != 10))
      let found = [Location(horizontalAccuracy: Double(accuracy))]
      delegate?.locationManager(source, didUpdateLocations: found)
    }
    delegate?.locationManager(source, didFailWithError: Missing())
    #expect(try await here.value == Location(horizontalAccuracy: 50))
    #expect(!locator.isGone)
    withExtendedLifetime(delegate) {}
  }

  // Hangs if the delegate or the updates outlive the promise.
  @Test(
    "a location ends with a value, an error, a cancellation or a time limit, and its delegate is released",
    arguments: ["value", "error", "cancellation", "time limit"])
  func endedLocation(_ end: String) async throws {
    let clock = ManualClock()
    let here = location().timeout(.seconds(10), clock: clock)
    let (source, locator) = try await started(here)
    switch end {
    case "value": source.delegate?.locationManager(source, didUpdateLocations: [Location()])
    case "error": source.delegate?.locationManager(source, didFailWithError: Missing())
    case "cancellation": here.cancel()
    default:
      await clock.elapse(.seconds(10))
    }
    await here.waitForHandlers()
    while source.isUpdating || !locator.isGone { await Task.yield() }
  }

  nonisolated final class Receiver: DownloadDelegate {
    private let deferred: Deferred<String>

    init(_ deferred: Deferred<String>) { self.deferred = deferred }

    func downloadTask(_ task: DownloadTask, didWrite bytes: Int64, ofExpected expected: Int64) {
      if expected > 0 { deferred.progress(Double(bytes) / Double(expected)) }
    }

    func downloadTask(_ task: DownloadTask, didFinishDownloadingTo file: String) {
      deferred.settle(with: Result { try keep(file) })  // the session then deletes the file
    }

    func downloadTask(_ task: DownloadTask, didCompleteWithError error: (any Error)?) {
      if let error { deferred.fail(error) }
    }
  }

  func download(_ url: String) -> Promise<String> {
    Promise { deferred in
      let session = Session(delegate: Receiver(deferred))
      let task = session.downloadTask(with: url)
      deferred.onCancel { task.cancel() }
      task.resume()
      session.finishTasksAndInvalidate()  // releases the delegate when the task has ended
    }
  }

  /// The download that has started, and a weak reference to its delegate.
  private func started() async throws -> (DownloadTask, Watched) {
    let task = try #require(DownloadTask.latest.withLock { $0.take() })
    return (task, Watched(try #require(task.delegate.withLock { $0 })))
  }

  // Fails if the progress or the file is lost, or the delegate is not released.
  @Test("a download reports its progress and its file")
  func progress() async throws {
    let photo = download("photo")
    photo.progressed { fraction in note("\(Int(fraction * 100)) %") }
    photo.fulfilled { file in note(file) }
    photo.start()
    let (task, receiver) = try await started()
    task.write(10, of: -1)
    task.write(10, of: 40)
    while log.all != ["25 %"] { await Task.yield() }
    task.finish()
    #expect(try await photo.value == "kept photo")
    await photo.waitForHandlers()
    #expect(log.last == "kept photo")
    #expect(receiver.isGone)
  }

  // Fails if an error is lost or the delegate is retained. Hangs if the download cannot be
  // canceled.
  @Test(
    "a download that fails or is canceled fails its promise, and its delegate is released",
    arguments: ["error", "file", "cancellation"])
  func endedDownload(_ end: String) async throws {
    let photo = download(end == "file" ? "missing" : "photo").start()
    let (task, receiver) = try await started()
    switch end {
    case "error": task.complete(Missing())
    case "file": task.finish()
    default: photo.cancel()
    }
    let isCanceled = end == "cancellation"
    #expect(await photo.outcome == (isCanceled ? "failed CancellationError()" : "failed Missing()"))
    #expect(task.isCancelled.withLock { $0 } == isCanceled)
    #expect(receiver.isGone)
  }

  @MainActor
  final class Guide: @MainActor CompassDelegate {
    private let (compass, manager) = (Compass(), PromiseManager())
    private var search: Deferred<String>?

    init() { compass.delegate = self }

    func find(_ name: String) -> Promise<String> {
      let place = Promise<String> { deferred in
        self.search = deferred
        self.compass.search(name)
      }
      manager.add(place)
      return place
    }

    func compass(_ compass: Compass, found place: String) { search?.tryFulfill(place) }
  }

  // Fails if two searches overlap: the second takes the place of the first.
  @Test("one delegate serves one request at a time")
  func guide() async throws {
    let guide = Guide()
    let places = ["north", "east", "south"]
    let found = places.map { guide.find($0) }
    found[1].cancel()
    #expect(try await [found[0].value, found[2].value] == ["north", "south"])
  }
}
/// As the system's types, driven by the tests.
extension WrapADelegateExamples {
  @MainActor
  final class AlertAction {
    let title: String
    let handler: @MainActor (AlertAction) -> Void

    init(title: String, handler: @escaping @MainActor (AlertAction) -> Void) {
      self.title = title
      self.handler = handler
    }
  }

  @MainActor
  final class AlertController {
    let title: String
    private(set) var actions: [AlertAction] = []
    fileprivate weak var screen: Screen?

    init(title: String) { self.title = title }

    func addAction(_ action: AlertAction) { actions.append(action) }

    func dismiss(animated: Bool) { screen?.alert = nil }
  }

  /// Retains the alert that it shows.
  @MainActor
  final class Screen {
    fileprivate(set) var alert: AlertController?
    private(set) var titles: [String] = []

    func present(_ alert: AlertController, animated: Bool) {
      titles.append(self.alert == nil ? alert.title : "two alerts")
      self.alert = alert
      alert.screen = self
    }

    /// Waits until an alert is shown.
    func shows(_ title: String) async {
      while alert?.title != title { await Task.yield() }
    }

    /// Dismisses the alert, and calls the handler of a button.
    func press(_ title: String) {
      let action = alert?.actions.first { $0.title == title }
      alert = nil
      if let action { action.handler(action) }
    }
  }

  struct Location: Sendable, Equatable {
    var horizontalAccuracy = 10.0
  }

  protocol LocationManagerDelegate: AnyObject {
    func locationManager(_ manager: LocationManager, didUpdateLocations locations: [Location])
    func locationManager(_ manager: LocationManager, didFailWithError error: any Error)
  }

  final class LocationManager {
    /// The manager that has started last: the suite is serialized.
    nonisolated(unsafe) static var latest: LocationManager?

    weak var delegate: (any LocationManagerDelegate)?
    private(set) var isUpdating = false

    func startUpdatingLocation() {
      isUpdating = true
      LocationManager.latest = self
    }

    func stopUpdatingLocation() { isUpdating = false }
  }

  protocol DownloadDelegate: AnyObject, Sendable {
    func downloadTask(_ task: DownloadTask, didWrite bytes: Int64, ofExpected expected: Int64)
    func downloadTask(_ task: DownloadTask, didFinishDownloadingTo file: String)
    func downloadTask(_ task: DownloadTask, didCompleteWithError error: (any Error)?)
  }

  /// Retains its delegate until it has ended and the session was invalidated, as a session does.
  final class DownloadTask: Sendable {
    /// The task that has started last: the suite is serialized.
    static let latest = Locked<DownloadTask?>(nil)

    let url: String
    fileprivate let delegate: Locked<(any DownloadDelegate)?>
    fileprivate let isInvalidated = Locked(false)
    /// Whether the task was canceled.
    let isCancelled = Locked(false)

    fileprivate init(_ url: String, _ delegate: any DownloadDelegate) {
      self.url = url
      self.delegate = Locked(delegate)
    }

    func resume() { DownloadTask.latest.withLock { $0 = self } }

    func cancel() {
      isCancelled.withLock { $0 = true }
      complete(CancellationError())
    }

    func write(_ bytes: Int64, of expected: Int64) {
      delegate.withLock { $0 }?.downloadTask(self, didWrite: bytes, ofExpected: expected)
    }

    func finish() {
      delegate.withLock { $0 }?.downloadTask(self, didFinishDownloadingTo: url)
      complete(nil)
    }

    func complete(_ error: (any Error)?) {
      let delegate = delegate.withLock { delegate in
        defer { if isInvalidated.withLock({ $0 }) { delegate = nil } }
        return delegate
      }
      delegate?.downloadTask(self, didCompleteWithError: error)
    }
  }

  struct Session: Sendable {
    let delegate: any DownloadDelegate
    private let task = Locked<DownloadTask?>(nil)

    init(delegate: any DownloadDelegate) { self.delegate = delegate }

    func downloadTask(with url: String) -> DownloadTask {
      let new = DownloadTask(url, delegate)
      task.withLock { $0 = new }
      return new
    }

    func finishTasksAndInvalidate() {
      task.withLock { $0.take() }?.isInvalidated.withLock { $0 = true }
    }
  }

  protocol CompassDelegate: AnyObject {
    func compass(_ compass: Compass, found place: String)
  }

  @MainActor
  final class Compass {
    weak var delegate: (any CompassDelegate)?
    private(set) var searched: [String] = []

    func search(_ name: String) {
      searched.append(name)
      Task { delegate?.compass(self, found: name) }
    }
  }
}
