// Preloaded (LD_PRELOAD), makes one system call of serialq fail, or kills the process there.
//
// Counts only calls from the program's own code, not those that its libraries make internally.
// Jobs, the editor and a background runner do not inherit it. FaultBench.swift sets the variables:
//
//   FAULT_LOG=FILE   logs every call, and every change of the disk, one per line
//   FAULT_AT=K       the number of the call that fails, counted from 1
//   FAULT_KIND=KIND  an error number; kill: die before the call; torn: die after half of a write;
//                    short: half of a read or write
//   FAULT_STAYS=1    every later call that can fail in this way also fails: a disk that stays full;
//                    a harmless fault affects every second call, so that a retry succeeds
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define KILL -1
#define TORN -2
#define SHORT -3
#define NOTHING 0

static int log_file = -1;
static long fault_at, calls;
static int fault_kind, fault_stays;
static uintptr_t program_start, program_end;
// Held during a call that changes the disk, so that the log has the calls in their order.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local sigset_t mask;

// Without SIGIO, whose handler in the program writes.
static void hold(void) {
  sigset_t handled, before;
  sigemptyset(&handled);
  sigaddset(&handled, SIGIO);
  pthread_sigmask(SIG_BLOCK, &handled, &before);
  pthread_mutex_lock(&mutex);
  mask = before;
}

static void release(void) {
  sigset_t before = mask;
  pthread_mutex_unlock(&mutex);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int note_program(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size, (void)data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD) continue;
    uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
    if (!program_end || start < program_start) program_start = start;
    if (end > program_end) program_end = end;
  }
  return 1;  // The first object is the program.
}

__attribute__((constructor)) static void begin(void) {
  char path[PATH_MAX] = "";
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return;
  const char *name = strrchr(path, '/');
  // A shell that later executes serialq is not affected, and passes the variables on.
  if (!name || strncmp(name + 1, "serialq", 7)) return;
  const char *log = getenv("FAULT_LOG"), *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND");
  if (log) {
    int opened = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    // Above the numbers that the program gets.
    log_file = syscall(SYS_fcntl, opened, F_DUPFD_CLOEXEC, 500);
    syscall(SYS_close, opened);
  }
  if (at && kind) {
    fault_at = atol(at);
    fault_kind = !strcmp(kind, "kill")    ? KILL
                 : !strcmp(kind, "torn")  ? TORN
                 : !strcmp(kind, "short") ? SHORT
                                          : atoi(kind);
  }
  fault_stays = getenv("FAULT_STAYS") != NULL;
  const char *own[] = {"LD_PRELOAD", "FAULT_LOG", "FAULT_AT", "FAULT_KIND", "FAULT_STAYS"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) unsetenv(own[i]);
  dl_iterate_phdr(note_program, NULL);
}

static void say(const char *format, ...) {
  if (log_file < 0) return;
  char line[2 * PATH_MAX + 100];
  va_list arguments;
  va_start(arguments, format);
  int count = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  syscall(SYS_write, log_file, line, count);
}

static int is_own(void *caller) {
  return (uintptr_t)caller >= program_start && (uintptr_t)caller < program_end;
}

// Counts a call, and returns the fault to inject. `kinds` are the ways in which it can fail,
// terminated by NOTHING. The mutex is held on return.
static int next_fault(const char *name, const int *kinds) {
  hold();
  calls++;
  char text[100] = "";
  int can_fail = 0;
  for (; *kinds != NOTHING; kinds++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), " %d", *kinds);
    can_fail |= *kinds == fault_kind;
  }
  say("call\t%ld\t%s\t%s\n", calls, name, text);
  int step = fault_kind == EINTR || fault_kind == SHORT ? 2 : 1;
  int is_due = fault_at && (calls == fault_at || (fault_stays && calls > fault_at &&
                                                  (calls - fault_at) % step == 0));
  if (!is_due || (fault_kind != KILL && !can_fail)) return NOTHING;
  say("fault\t%ld\t%s\t%d\n", calls, name, fault_kind);
  if (fault_kind == KILL) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  return fault_kind;
}

static void die(void) { syscall(SYS_kill, syscall(SYS_getpid), SIGKILL); }

static unsigned long inode(int file) {
  struct stat status;
  return fstatat(file, "", &status, AT_EMPTY_PATH) == 0 ? status.st_ino : 0;
}

static int is_file(int file) {
  struct stat status;
  return fstatat(file, "", &status, AT_EMPTY_PATH) == 0 && S_ISREG(status.st_mode);
}

static void say_written(int file, const unsigned char *bytes, ssize_t count) {
  if (log_file < 0 || count <= 0 || !is_file(file)) return;
  off_t end = syscall(SYS_lseek, file, 0, SEEK_CUR);
  char *line = malloc(2 * count + 100);
  int used = sprintf(line, "write\t%lu\t%ld\t", inode(file), (long)(end - count));
  for (ssize_t i = 0; i < count; i++) used += sprintf(line + used, "%02x", bytes[i]);
  line[used++] = '\n';
  syscall(SYS_write, log_file, line, used);
  free(line);
}

#define KINDS(...) ((const int[]){__VA_ARGS__, NOTHING})
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define UNLESS_OWN(name, ...) \
  if (!is_own(__builtin_return_address(0))) return REAL(name)(__VA_ARGS__)
#define FAIL(result)                   \
  if (fault != NOTHING && fault > 0) { \
    release();                         \
    errno = fault;                     \
    return result;                     \
  }

// A call that may block, and does not change the disk.
#define PASSING(type, failed, name, parameters, words, ...) \
  type name parameters {                                    \
    if (is_own(__builtin_return_address(0))) {              \
      int fault = next_fault(#name, KINDS(__VA_ARGS__));    \
      FAIL(failed)                                          \
      release();                                            \
    }                                                       \
    return REAL(name) words;                                \
  }

// A call that changes the disk; on success, `note` logs the change.
#define CHANGING(name, parameters, words, note, ...)   \
  int name parameters {                                \
    UNLESS_OWN(name, PLAIN words);                     \
    int fault = next_fault(#name, KINDS(__VA_ARGS__)); \
    FAIL(-1)                                           \
    int result = REAL(name) words;                     \
    int error = errno;                                 \
    if (result == 0) note;                             \
    release();                                         \
    errno = error;                                     \
    return result;                                     \
  }
#define PLAIN(...) __VA_ARGS__

PASSING(int, -1, stat, (const char *path, struct stat *status), (path, status), EIO, EACCES, ENOMEM, EINTR)
PASSING(int, -1, lstat, (const char *path, struct stat *status), (path, status), EIO, EACCES, ENOMEM, EINTR)
PASSING(int, -1, fstat, (int file, struct stat *status), (file, status), EIO, ENOMEM)
PASSING(int, -1, flock, (int file, int operation), (file, operation), EINTR, ENOLCK)
PASSING(int, -1, inotify_init1, (int flags), (flags), EMFILE, ENOMEM)
PASSING(int, -1, inotify_add_watch, (int file, const char *path, uint32_t mask), (file, path, mask), ENOSPC, ENOMEM)
PASSING(int, -1, pipe2, (int ends[2], int flags), (ends, flags), EMFILE, ENFILE)
PASSING(int, -1, poll, (struct pollfd * entries, nfds_t count, int time), (entries, count, time), EINTR, ENOMEM)
PASSING(int, -1, waitid, (idtype_t type, id_t id, siginfo_t *info, int flags), (type, id, info, flags), EINTR)
PASSING(pid_t, -1, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags), EINTR)
PASSING(char *, NULL, getcwd, (char *buffer, size_t size), (buffer, size), ENOMEM, EACCES)
PASSING(ssize_t, -1, readlink, (const char *path, char *buffer, size_t size), (path, buffer, size), EIO, ENOMEM)
PASSING(DIR *, NULL, opendir, (const char *path), (path), EMFILE, ENOMEM, EACCES, EINTR)
PASSING(struct dirent *, NULL, readdir, (DIR *stream), (stream), EIO)

// Sockets and terminals.
PASSING(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE, ENOMEM)
PASSING(int, -1, bind, (int file, const struct sockaddr *address, socklen_t length), (file, address, length), EADDRINUSE, ENOSPC, EACCES)
PASSING(int, -1, listen, (int file, int count), (file, count), EADDRINUSE)
PASSING(int, -1, accept4, (int file, struct sockaddr *address, socklen_t *length, int flags), (file, address, length, flags), EMFILE, EINTR, ECONNABORTED)
PASSING(int, -1, connect, (int file, const struct sockaddr *address, socklen_t length), (file, address, length), ECONNREFUSED, EAGAIN, EINTR)
PASSING(int, -1, getsockopt, (int file, int level, int name, void *value, socklen_t *length), (file, level, name, value, length), ENOMEM)
PASSING(int, -1, chdir, (const char *path), (path), EACCES, EIO)
PASSING(int, -1, fchdir, (int file), (file), EACCES, EIO)
PASSING(int, -1, tcgetattr, (int file, struct termios *mode), (file, mode), EIO)
PASSING(int, -1, tcsetattr, (int file, int when, const struct termios *mode), (file, when, mode), EIO, EINTR)
PASSING(pid_t, -1, tcgetpgrp, (int file), (file), ENOTTY)
PASSING(int, -1, posix_openpt, (int flags), (flags), EMFILE, ENOSPC)
PASSING(int, -1, grantpt, (int file), (file), EACCES)
PASSING(int, -1, unlockpt, (int file), (file), EINVAL)

CHANGING(mkdir, (const char *path, mode_t mode), (path, mode), {
  struct stat status;
  fstatat(AT_FDCWD, path, &status, 0);
  say("mkdir\t%lu\t%s\n", status.st_ino, path);
}, ENOSPC, EIO, EACCES, EINTR)
CHANGING(rename, (const char *from, const char *to), (from, to), say("rename\t%s\t%s\n", from, to),
         ENOSPC, EIO, EACCES, EINTR)
CHANGING(unlink, (const char *path), (path), say("unlink\t%s\n", path), EIO, EACCES, EINTR)
CHANGING(ftruncate, (int file, off_t size), (file, size),
         say("truncate\t%lu\t%ld\n", inode(file), (long)size), EIO, EINTR)

// A failed flush loses its data, and the next one succeeds, as on Linux.
#define FLUSHING(name)                                        \
  int name(int file) {                                        \
    UNLESS_OWN(name, file);                                   \
    int fault = next_fault(#name, KINDS(EIO, ENOSPC, EINTR)); \
    if (fault == EIO) say("lose\t%lu\n", inode(file));        \
    FAIL(-1)                                                  \
    int result = REAL(name)(file), error = errno;             \
    if (result == 0) say("flush\t%lu\n", inode(file));        \
    release();                                                \
    errno = error;                                            \
    return result;                                            \
  }
FLUSHING(fsync)
FLUSHING(fdatasync)

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  UNLESS_OWN(open, path, flags, mode);
  const int *kinds = flags & O_CREAT ? KINDS(EMFILE, ENOMEM, EACCES, EIO, EINTR, ENOSPC)
                                     : KINDS(EMFILE, ENOMEM, EACCES, EIO, EINTR);
  int fault = next_fault("open", kinds);
  FAIL(-1)
  struct stat before;
  int was_there = fstatat(AT_FDCWD, path, &before, AT_SYMLINK_NOFOLLOW) == 0;
  int file = REAL(open)(path, flags, mode), error = errno;
  if (file >= 0 && flags & O_CREAT && !was_there) say("create\t%lu\t%s\n", inode(file), path);
  if (file >= 0 && flags & O_TRUNC && was_there) say("truncate\t%lu\t0\n", inode(file));
  release();
  errno = error;
  return file;
}

int fcntl(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void *word = va_arg(arguments, void *);
  va_end(arguments);
  if (command == F_DUPFD_CLOEXEC && is_own(__builtin_return_address(0))) {
    int fault = next_fault("fcntl", KINDS(EMFILE));
    FAIL(-1)
    release();
  }
  return REAL(fcntl)(file, command, word);
}

int posix_spawn(pid_t *restrict pid, const char *restrict path,
                const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                char *const environment[restrict]) {
  if (is_own(__builtin_return_address(0))) {
    int fault = next_fault("posix_spawn", KINDS(ENOMEM, EAGAIN, EACCES));
    FAIL(fault)
    release();
  }
  return REAL(posix_spawn)(pid, path, actions, attributes, arguments, environment);
}

// How many of `count` bytes to read or write.
static size_t part(int fault, size_t count) {
  return fault == SHORT || fault == TORN ? (count + 1) / 2 : count;
}

ssize_t write(int file, const void *bytes, size_t count) {
  UNLESS_OWN(write, file, bytes, count);
  // A disk that stays full does not affect standard output and standard error.
  int can_fail = is_file(file) && !(fault_stays && file <= STDERR_FILENO);
  const int *kinds = can_fail ? KINDS(ENOSPC, EIO, EINTR, SHORT, TORN) : KINDS(EINTR);
  int fault = next_fault("write", kinds);
  FAIL(-1)
  ssize_t result = REAL(write)(file, bytes, part(fault, count));
  int error = errno;
  say_written(file, bytes, result);
  if (fault == TORN) die();
  release();
  errno = error;
  return result;
}

ssize_t read(int file, void *bytes, size_t count) {
  UNLESS_OWN(read, file, bytes, count);
  int fault = next_fault("read", is_file(file) ? KINDS(EIO, EINTR, SHORT) : KINDS(EINTR));
  FAIL(-1)
  release();
  return REAL(read)(file, bytes, part(fault, count));
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
  UNLESS_OWN(pread, file, bytes, count, offset);
  int fault = next_fault("pread", KINDS(EIO, EINTR, SHORT));
  FAIL(-1)
  release();
  return REAL(pread)(file, bytes, part(fault, count), offset);
}
