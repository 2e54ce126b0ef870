/// What a job runs, as the journal keeps it.
typealias JobCommand = Command
