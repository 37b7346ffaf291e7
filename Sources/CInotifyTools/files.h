// Linux file calls that Swift's Glibc module leaves out: it is built without _GNU_SOURCE, and Swift cannot call the
// variadic syscall(). Nothing else belongs here.
#ifndef TIDEMARK_FILES_H
#define TIDEMARK_FILES_H

#include <linux/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
  tm_rename_noreplace = 1,
  tm_rename_exchange = 2,
  tm_f_setsig = 10,
  tm_f_setlease = 1024,
  tm_at_empty_path = 0x1000,
  tm_mode_kind = 0170000,
};

static inline int tm_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags) {
  return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

static inline int tm_statx(int folder, const char *name, int flags, unsigned int mask, struct statx *result) {
  return (int)syscall(SYS_statx, folder, name, flags, mask, result);
}

// The number of the kind of file system at a path; negative where it cannot be told.
static inline long tm_file_system_kind(const char *path) {
  struct statfs status;
  return statfs(path, &status) == 0 ? (long)status.f_type : -1;
}

static inline int tm_syncfs(int descriptor) { return (int)syscall(SYS_syncfs, descriptor); }

static inline ssize_t tm_flistxattr(int descriptor, char *names, size_t size) {
  return (ssize_t)syscall(SYS_flistxattr, descriptor, names, size);
}

static inline ssize_t tm_fgetxattr(int descriptor, const char *name, void *value, size_t size) {
  return (ssize_t)syscall(SYS_fgetxattr, descriptor, name, value, size);
}

static inline int tm_fsetxattr(int descriptor, const char *name, const void *value, size_t size, int flags) {
  return (int)syscall(SYS_fsetxattr, descriptor, name, value, size, flags);
}

#endif
