import SerialqQueue
import SerialqSystem

/// Shows other commands what a command in a job waits for.
///
/// An open file in the folder of the awaited queue, at the offset of the awaited job, or 0 for the
/// whole queue. `proc(5)` shows both, so that no record outlives the process that waits.
package struct WaitMark {
  package let job: JobID?
  private let file: FileDescriptor

  /// Whether this process can be one of a job's: it inherited a lock or the variables.
  package static var isPossible: Bool {
    fcntl(JobProcess.lockDescriptor, F_GETFD) != -1 || Machine.variable("SERIALQ_QUEUE") != nil
  }

  /// Nil if the file cannot be created, as on a read-only file system.
  package init?(_ folder: QueueFolder, _ job: JobID?) {
    guard let file = try? FileDescriptor.open(folder.waiters, .lock) else { return nil }
    lseek(file.raw, off_t(job ?? 0), SEEK_SET)
    (self.job, self.file) = (job, file)
  }

  /// The queues that processes of a running job wait for, and the awaited jobs, nil for all.
  ///
  /// Empty without `proc(5)`. Misses a process that has closed the lock and left the job's group,
  /// and whose parents have ended.
  package static func all(
    of job: Job, in folder: QueueFolder, _ spool: Spool
  ) -> [(QueueFolder, JobID?)] {
    let lock = JobLock.file(folder.jobLock(job.id))
    let names = (try? FileSystem.names(in: Bytes("/proc"))) ?? []
    return names.compactMap { Int32($0.text) }.filter { pid in
      if lock?.isHeld(by: pid) == true { return true }
      guard let leader = job.running?.pid else { return false }
      return ProcessStatus.of(pid)?.group == leader || ProcessStatus.isAncestor(leader, of: pid)
    }.flatMap { pid in
      let place = Bytes("/proc/\(pid)/".utf8)
      return ((try? FileSystem.names(in: place + Bytes("fd"))) ?? []).compactMap {
        find(place, $0, spool)
      }
    }
  }

  /// The queue and job of a mark among the open files of a process.
  private static func find(_ place: Bytes, _ name: Bytes, _ spool: Spool) -> (QueueFolder, JobID?)?
  {
    let path = place + Bytes("fd/") + name
    // Reads the link first: `stat(2)` of a file on a network can block.
    let parts = FileSystem.target(of: path)?.split(separator: UInt8(ascii: "/")).suffix(2) ?? []
    guard parts.last?.elementsEqual(Bytes("waiters")) == true, let queue = parts.first,
      let folder = try? spool.existingQueue(named: Bytes(queue).text),
      let identity = (try? FileSystem.status(of: folder.waiters))?.identity,
      (try? FileSystem.status(of: path, followingLinks: true))?.identity == identity,
      let text = try? FileDescriptor.openIfThere(
        place + Bytes("fdinfo/") + name, .read, followingLinks: true)?.readAll().text,
      let offset = text.split(separator: "\n").first?.split(separator: "\t").last,
      let job = JobID(offset)
    else { return nil }
    return (folder, job == 0 ? nil : job)
  }
}
