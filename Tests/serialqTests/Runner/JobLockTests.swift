@testable import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqRunner

/// Which file the lock of a job has.
@Suite final class JobLockTests: QueueSuite {
  // Fails if a file is created for each job; on ext4 without a journal, each one that was removed
  // makes the next creation slower.
  @Test("the lock file of an ended job becomes that of the next one")
  func renamed() throws {
    let first = try JobLock.take(1, folder)
    let file = try first.status().identity
    // Not by closing it: a child that another test is starting has a copy until it executes its
    // program.
    first.unlock()
    let lock = try JobLock.take(2, spare: 1, folder)
    #expect(try lock.status().identity == file)
    #expect(try FileSystem.names(in: folder.locks) == [Bytes("2")])
    #expect(try JobLock.isHeld(2, folder))
    #expect(try !JobLock.isHeld(1, folder))
  }

  // Fails if a job cannot start because someone removed or replaced a file.
  @Test("a spare lock file that is gone, or is no file, is replaced")
  func missing() throws {
    for spare in [1, 7] {
      let lock = try JobLock.take(7, spare: spare, folder)
      #expect(try JobLock.isHeld(7, folder))
      lock.unlock()
    }
    _ = try FileSystem.makeFolder(folder.jobLock(3))
    let lock = try JobLock.take(8, spare: 3, folder)
    #expect(try JobLock.isHeld(8, folder))
    lock.unlock()
  }
}
