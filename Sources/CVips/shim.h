#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

// libvips is loaded at the first use and not linked: with the hundred libraries that it needs, linking it would cost every
// start of the program some 60 ms and 20 MB, though few commands ever see an image. So its functions are declared here, as
// in vips/vips.h (ABI version 42); most are variadic, which Swift cannot call.

typedef struct _VipsImage VipsImage;

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
  int (*image_get_page_height)(VipsImage *image);
  int (*thumbnail)(const char *path, VipsImage **out, int width, ...);
  int (*image_write_to_buffer)(VipsImage *in, const char *suffix, void **buffer, size_t *size, ...);
  void (*unref)(void *object);
  void (*free)(void *memory);
};

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
  TM_FIND(image_get_page_height, "vips_image_get_page_height");
  TM_FIND(thumbnail, "vips_thumbnail");
  TM_FIND(image_write_to_buffer, "vips_image_write_to_buffer");
  TM_FIND(unref, "g_object_unref");
  TM_FIND(free, "g_free");
#undef TM_FIND
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

// Writes an image in the format that a suffix with options names, such as `.jpg[Q=80]`.
static inline int tm_vips_write(
    const struct tm_vips *vips, VipsImage *image, const char *suffix, void **buffer, size_t *size) {
  return vips->image_write_to_buffer(image, suffix, buffer, size, (char *)NULL);
}
