/// What a queue on the disk is.
package enum OnDisk: String, Guarantee {
  package static let subject = "serialq, on disk"

  case place = "The queues are in SERIALQ_DIR, else under XDG_STATE_HOME, else under the home"
  case forItsUserAlone = "Folders of a queue are 0700 and its files 0600, whatever the umask"
  case strangersAreRefused =
    "What belongs to somebody else, or others can write to, is refused by name"
  case plantsAreRefused = "A link, a fifo or a folder in the place of a file is refused by name"
  case names = "A queue's name is 1 to 64 letters, digits, dots, underscores and hyphens"
  case replay = "A queue is what the replay of its journal gives"
  case appends = "Changes are appended under a lock, those of a command in one write"
  case successIsDurable = "Success is reported when it is on the disk"
  case startIsDurable = "A job's start is on the disk before there is a process"
  case prefixes = "Any prefix of a journal is a valid queue"
  case tornLines = "A torn last line is left out, and cut off before the next append"
  case damage = "A damaged line costs only itself, is told, and is kept aside"
  case readable = "Every line is JSON for jq, and says the version of its format"
  case newerVersions = "An unknown version or event is refused, and never overwritten"
  case addIsFlat = "What an add does is the same for a queue of any length"
  case onlyWhatIsNew = "Whoever follows a queue reads only what was appended"
  case environmentsOnce = "Equal environments are stored once, and come back exactly"
  case environmentsSecret = "No environment is printed, except by show --env"
  case compaction = "A compaction takes a new file to the old one's place, whole or not at all"
  case readersGoOn = "Readers notice a compaction, and go on"
  case compactsByItself = "A journal that is mostly history is written anew by itself"
  case failuresChangeNothing =
    "Where the system fails, a command says so and the queue is as it was"
}
