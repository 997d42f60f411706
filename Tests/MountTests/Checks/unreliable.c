/* An LD_PRELOAD whose system calls on files are interrupted (EINTR) or move fewer bytes than asked, each
   about one time in three, as signals and odd filesystems make them. What it did to which call is counted
   in the file UNRELIABLE, two numbers of 8 bytes a call, shared by every process that has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

enum call { READ, WRITE, SYNC, ALLOCATE, RESIZE, OPEN, REMOVE, RENAME, LOOK, CALLS };

struct count {
  atomic_uint_least64_t interrupted, shortened;
};

static struct count unused[CALLS], *counts = unused;
static atomic_uint_least64_t number;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("UNRELIABLE");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *memory = mmap(NULL, sizeof unused, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) counts = memory;
}

/* One of the same sequence of odd numbers in every run. */
static uint64_t next(void) {
  uint64_t value = (atomic_fetch_add(&number, 1) + 1) * 0x9e3779b97f4a7c15u;
  return (value ^ value >> 29) * 0xbf58476d1ce4e5b9u >> 32;
}

static int interrupted(enum call call) {
  if (next() % 3 != 0) return 0;
  counts[call].interrupted++;
  errno = EINTR;
  return 1;
}

static size_t part(enum call call, size_t size) {
  uint64_t choice = next();
  if (size < 2 || choice % 3 != 0) return size;
  counts[call].shortened++;
  return 1 + choice / 3 % (size - 1);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pread(int file, void *to, size_t size, off_t offset) {
  return interrupted(READ) ? -1 : NEXT(pread)(file, to, part(READ, size), offset);
}
ssize_t pread64(int file, void *to, size_t size, off64_t offset) {
  return interrupted(READ) ? -1 : NEXT(pread64)(file, to, part(READ, size), offset);
}
ssize_t pwrite(int file, const void *from, size_t size, off_t offset) {
  return interrupted(WRITE) ? -1 : NEXT(pwrite)(file, from, part(WRITE, size), offset);
}
ssize_t pwrite64(int file, const void *from, size_t size, off64_t offset) {
  return interrupted(WRITE) ? -1 : NEXT(pwrite64)(file, from, part(WRITE, size), offset);
}
int fdatasync(int file) { return interrupted(SYNC) ? -1 : NEXT(fdatasync)(file); }
int fsync(int file) { return interrupted(SYNC) ? -1 : NEXT(fsync)(file); }
int fallocate(int file, int mode, off_t offset, off_t size) {
  return interrupted(ALLOCATE) ? -1 : NEXT(fallocate)(file, mode, offset, size);
}
int fallocate64(int file, int mode, off64_t offset, off64_t size) {
  return interrupted(ALLOCATE) ? -1 : NEXT(fallocate64)(file, mode, offset, size);
}
int ftruncate(int file, off_t size) { return interrupted(RESIZE) ? -1 : NEXT(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) {
  return interrupted(RESIZE) ? -1 : NEXT(ftruncate64)(file, size);
}
int unlinkat(int folder, const char *name, int flags) {
  return interrupted(REMOVE) ? -1 : NEXT(unlinkat)(folder, name, flags);
}
int renameat(int from, const char *name, int to, const char *other) {
  return interrupted(RENAME) ? -1 : NEXT(renameat)(from, name, to, other);
}

int fstat(int file, struct stat *status) {
  return interrupted(LOOK) ? -1 : NEXT(fstat)(file, status);
}
int fstatat(int folder, const char *name, struct stat *status, int flags) {
  return name[0] != '/' && interrupted(LOOK) ? -1 : NEXT(fstatat)(folder, name, status, flags);
}
int fstatvfs(int file, struct statvfs *status) {
  return interrupted(LOOK) ? -1 : NEXT(fstatvfs)(file, status);
}

/* Other libraries open by absolute paths, and are not what is tried. */
int openat(int folder, const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return name[0] != '/' && interrupted(OPEN) ? -1 : NEXT(openat)(folder, name, flags, mode);
}
int openat64(int folder, const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return name[0] != '/' && interrupted(OPEN) ? -1 : NEXT(openat64)(folder, name, flags, mode);
}
