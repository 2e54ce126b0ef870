/// The guarantees of a queue on disk.
package enum OnDisk: String, Guarantee {
  package static let subject = "serialq, on disk"

  case place =
    "Queues are stored in SERIALQ_DIR, else under XDG_STATE_HOME, else under the home folder"
  case forItsUserAlone =
    "Folders of a queue have mode 0700 and its files 0600, regardless of the umask"
  case strangersAreRefused =
    "A path owned by another user or writable by others is refused with an error that names it"
  case plantsAreRefused =
    "A link, FIFO or folder in place of a file is refused with an error that names it"
  case names = "A queue's name is 1 to 64 letters, digits, dots, underscores and hyphens"
  case replay = "A queue is what the last line about each thing says"
  case appends = "Changes are appended under a lock, those of one command in one write"
  case successIsDurable = "Success is reported after the data is on disk"
  case startIsDurable = "A job's start is on disk before its process exists"
  case prefixes = "Any prefix of a journal is a valid queue"
  case tornLines = "A torn last line is ignored, and truncated before the next append"
  case damage = "A damaged line affects only itself, is reported, and is kept in a separate file"
  case readable = "Every line is JSON that jq can read, and has the version of its format"
  case newerVersions = "An unknown version or line is refused, and never overwritten"
  case addIsFlat = "The cost of an add does not depend on the length of the queue"
  case onlyWhatIsNew = "A process that follows a queue reads only appended data"
  case environmentsOnce = "Equal environments are stored once, and restored exactly"
  case environmentsSecret = "No environment is printed, except by show --env"
  case compaction = "A compaction replaces the old file atomically"
  case readersContinue = "Readers detect a compaction, and continue"
  case compactsByItself = "A journal that is mostly history is compacted automatically"
  case failuresChangeNothing =
    "If a system call fails, the command reports it and the queue is unchanged"
}
