import SerialqSystem
import Testing

/// An engine with a launcher, as small as the contract of launchers allows.
///
/// Like ssh and Slurm, it has three parts, and each can be killed without the others: `launcher`;
/// `client`, which it starts and which waits for the answer of the engine; and `engine`, whose
/// processes do the work and hold the fence. They share the folder of an attempt.
final class FakeEngine {
  /// The engine ends with the last writer of its requests, also if the tests are killed.
  private var requests: FileDescriptor?

  /// Starts the engine, and sets the launcher of the default queue.
  init(_ scene: Scene) throws {
    for (name, script) in ["launcher": Self.launcher, "client": Self.client, "engine": Self.engine]
    {
      let path = scene.programs.appending(path: Bytes(name.utf8))
      try writeProgram(Bytes("#!/bin/sh\n\(script)\n".utf8), to: path)
    }
    let path = scene.path("requests")
    try #require(path.withCString { mkfifo($0, 0o600) } == 0)
    requests = try FileDescriptor.open(path, .readWrite, followingLinks: true)
    // In a session of its own: other programs of the scene are ended after some time.
    let start = "setsid engine <requests >/dev/null 2>&1 &"
    #expect(try scene.script(start).code == 0)
    #expect(try scene.serialq("set", "launcher", "launcher").code == 0)
  }

  /// Ends the engine, but not the work that it has begun.
  func stop() { requests = nil }

  /// The folder `decided` is made only once: by the launcher, and then the job is never started, or
  /// by the engine.
  private static let launcher = #"""
    folder=$PWD/attempt.$SERIALQ_JOB.$SERIALQ_ATTEMPT
    mkdir "$folder" && mkfifo "$folder/answer" || exit
    for line; do :; done
    printf '%s\n' "SERIALQ_JOB=$SERIALQ_JOB SERIALQ_ATTEMPT=$SERIALQ_ATTEMPT" "$line" >"$folder/job"
    exec 8>"$folder/launcher"
    flock 8
    stop() {
      if mkdir "$folder/decided" 2>/dev/null; then
        echo signal TERM >"$folder/result"
        kill "$client"
        return
      fi
      until [ -s "$folder/group" ]; do sleep 0.01; done
      [ -e "$folder/over" ] || kill "-$(cat "$folder/group")"
      until [ -e "$folder/over" ]; do sleep 0.01; done
      cp "$folder/over" "$folder/result"
    }
    trap stop TERM
    client "$folder" 8>&- &
    client=$!
    wait "$client"
    # A signal interrupts a wait.
    while kill -0 "$client" 2>/dev/null; do wait "$client"; done
    [ -s "$folder/result" ] || echo lost the client ended >"$folder/result"
    cat "$folder/result" >>"$SERIALQ_RESULT"
    """#

  private static let client = #"""
    exec 8>"$1/client" 6<>"$1/answer"
    flock 8
    echo "$1" >requests
    read -r line <&6
    echo "$line" >"$1/result"
    """#

  /// Starts the work with the fence, which the processes of the work keep.
  ///
  /// Starts nothing for a launcher or client that has ended: the next launcher may wait already.
  private static let engine = #"""
    execute() {
      exec 9>>fence
      flock 9
      line='lost it was not started'
      if ! flock -n "$1/launcher" true && ! flock -n "$1/client" true && mkdir "$1/decided"; then
        setsid sh -c 'echo $$ >"$0/group"; exec sh "$0/job"' "$1" </dev/null
        code=$?
        line="exit $code"
        [ "$code" -le 128 ] || line="signal $((code - 128))"
      fi
      echo "$line" >"$1/over.new"
      mv "$1/over.new" "$1/over"
      echo "$line" 1<>"$1/answer"
    } 2>/dev/null
    while read -r folder; do execute "$folder" & done
    """#
}
