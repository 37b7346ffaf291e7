#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

// libvips is loaded at the first use and not linked: with the hundred libraries that it needs, linking it would cost every
// start of the program some 60 ms and 20 MB, though few commands ever see an image. So its functions are declared here, as
// in vips/vips.h (ABI version 42); most are variadic, which Swift cannot call.

typedef struct _VipsImage VipsImage;
typedef struct _VipsTarget VipsTarget;

struct tm_vips {
  int (*init)(const char *name);
  void (*cache_set_max)(int max);
  void (*concurrency_set)(int count);
  void (*block_untrusted_set)(int state);
  const char *(*error_buffer)(void);
  void (*error_clear)(void);
  const char *(*foreign_find_load)(const char *path);
  VipsImage *(*image_new_from_file)(const char *path, ...);
  int (*image_get_width)(const VipsImage *image);
  int (*image_get_height)(const VipsImage *image);
  int (*image_get_orientation)(VipsImage *image);
  size_t (*image_get_typeof)(const VipsImage *image, const char *name);
  int (*image_get_string)(const VipsImage *image, const char *name, const char **text);
  int (*image_get_blob)(const VipsImage *image, const char *name, const void **bytes, size_t *size);
  int (*image_get_page_height)(VipsImage *image);
  int (*image_get_n_pages)(VipsImage *image);
  char **(*image_get_fields)(VipsImage *image);
  int (*image_remove)(VipsImage *image, const char *name);
  int (*thumbnail)(const char *path, VipsImage **out, int width, ...);
  int (*image_write_to_buffer)(VipsImage *in, const char *suffix, void **buffer, size_t *size, ...);
  VipsTarget *(*target_new_to_descriptor)(int file);
  int (*image_write_to_target)(VipsImage *in, const char *suffix, VipsTarget *target, ...);
  void (*unref)(void *object);
  void (*free)(void *memory);
  void (*strfreev)(char **texts);
  unsigned (*log_set_handler)(const char *domain, int levels, void (*handler)(void), void *data);
};

static inline void tm_vips_silent(void) {}

// Loads the library; gives the reason when that fails, or NULL.
static inline const char *tm_vips_load(struct tm_vips *vips) {
  void *library = dlopen("libvips.so.42", RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
#define TM_FIND(member, name)                       \
  *(void **)&vips->member = dlsym(library, name);   \
  if (!vips->member) return "libvips lacks " name
  TM_FIND(init, "vips_init");
  TM_FIND(cache_set_max, "vips_cache_set_max");
  TM_FIND(concurrency_set, "vips_concurrency_set");
  TM_FIND(block_untrusted_set, "vips_block_untrusted_set");
  TM_FIND(error_buffer, "vips_error_buffer");
  TM_FIND(error_clear, "vips_error_clear");
  TM_FIND(foreign_find_load, "vips_foreign_find_load");
  TM_FIND(image_new_from_file, "vips_image_new_from_file");
  TM_FIND(image_get_width, "vips_image_get_width");
  TM_FIND(image_get_height, "vips_image_get_height");
  TM_FIND(image_get_orientation, "vips_image_get_orientation");
  TM_FIND(image_get_typeof, "vips_image_get_typeof");
  TM_FIND(image_get_string, "vips_image_get_string");
  TM_FIND(image_get_blob, "vips_image_get_blob");
  TM_FIND(image_get_page_height, "vips_image_get_page_height");
  TM_FIND(image_get_n_pages, "vips_image_get_n_pages");
  TM_FIND(image_get_fields, "vips_image_get_fields");
  TM_FIND(image_remove, "vips_image_remove");
  TM_FIND(thumbnail, "vips_thumbnail");
  TM_FIND(image_write_to_buffer, "vips_image_write_to_buffer");
  TM_FIND(target_new_to_descriptor, "vips_target_new_to_descriptor");
  TM_FIND(image_write_to_target, "vips_image_write_to_target");
  TM_FIND(unref, "g_object_unref");
  TM_FIND(free, "g_free");
  TM_FIND(strfreev, "g_strfreev");
  TM_FIND(log_set_handler, "g_log_set_handler");
#undef TM_FIND
  // What it finds odd in a picture is nothing for a person's terminal; what it cannot do, it says as an error.
  vips->log_set_handler("VIPS", 1 << 4 /* G_LOG_LEVEL_WARNING */, tm_vips_silent, NULL);
  return vips->init("tidemark") ? vips->error_buffer() : NULL;
}

// Opens a file and reads its head; pixels are read when they are asked for.
static inline VipsImage *tm_vips_open(const struct tm_vips *vips, const char *path) {
  return vips->image_new_from_file(path, "access", 1 /* VIPS_ACCESS_SEQUENTIAL */, (char *)NULL);
}

// Scales into a box, turned as the file says. `size` is a VipsSize, `crop` a VipsInteresting. NULL on failure.
static inline VipsImage *tm_vips_thumbnail(
    const struct tm_vips *vips, const char *path, int width, int height, int size, int crop) {
  VipsImage *out = NULL;
  if (vips->thumbnail(path, &out, width, "height", height, "size", size, "crop", crop, (char *)NULL)) return NULL;
  return out;
}

// Scales into a square, as the pixels are stored: the head says as before how they are to be turned.
static inline VipsImage *tm_vips_shrink(const struct tm_vips *vips, const char *path, int edge) {
  VipsImage *out = NULL;
  if (vips->thumbnail(
          path, &out, edge, "height", edge, "size", 2 /* VIPS_SIZE_DOWN */, "no_rotate", 1, (char *)NULL))
    return NULL;
  return out;
}

// Writes an image to an open file piece by piece; the suffix names the format, as below.
static inline int tm_vips_write_file(const struct tm_vips *vips, VipsImage *image, const char *suffix, int file) {
  VipsTarget *target = vips->target_new_to_descriptor(file);
  if (!target) return -1;
  int failed = vips->image_write_to_target(image, suffix, target, (char *)NULL);
  vips->unref(target);
  return failed;
}

// Writes an image in the format that a suffix with options names, such as `.jpg[Q=80]`.
static inline int tm_vips_write(
    const struct tm_vips *vips, VipsImage *image, const char *suffix, void **buffer, size_t *size) {
  return vips->image_write_to_buffer(image, suffix, buffer, size, (char *)NULL);
}
