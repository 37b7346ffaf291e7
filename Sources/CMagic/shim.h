#include <dlfcn.h>
#include <stddef.h>

// libmagic is loaded at the first file that is no photo, and is not linked: few commands ever ask it anything. Its functions
// are declared here as in magic.h (ABI version 1).

typedef struct magic_set *magic_t;

struct tm_magic {
  magic_t (*open)(int flags);
  int (*load)(magic_t cookie, const char *database);
  const char *(*descriptor)(magic_t cookie, int file);
  void (*close)(magic_t cookie);
};

// Loads the library; gives the reason when that fails, or NULL.
static inline const char *tm_magic_load(struct tm_magic *magic) {
  void *library = dlopen("libmagic.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
#define TM_FIND(member, name)                      \
  *(void **)&magic->member = dlsym(library, name); \
  if (!magic->member) return "libmagic lacks " name
  TM_FIND(open, "magic_open");
  TM_FIND(load, "magic_load");
  TM_FIND(descriptor, "magic_descriptor");
  TM_FIND(close, "magic_close");
#undef TM_FIND
  return NULL;
}
