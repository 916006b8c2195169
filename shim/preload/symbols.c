/* Finds the dlsym and dlvsym behind ours without the loader's help. dlsym cannot be asked for itself, dlvsym is ours
 * too, and anything else of libc could be a sanitizer's interceptor that is not ready yet. So this reads the loader's
 * list of objects and their symbol tables. Both are complete before the first call can reach us. */
#include <elf.h>
#include <link.h>

#include "shim/preload/preload.h"

struct symbol_table {
  const ElfW(Sym) * symbols;
  const char* strings;
  const uint32_t* gnu_hash;
  const uint32_t* sysv_hash;
};

/* glibc relocates the pointers of a dynamic section in place, except the vDSO's. */
static const void* absolute(const struct link_map* object, ElfW(Addr) value) {
  return (const void*)(value < object->l_addr ? value + object->l_addr : value);
}

static int read_symbol_table(const struct link_map* object, struct symbol_table* table) {
  *table = (struct symbol_table){0};
  for (const ElfW(Dyn)* entry = object->l_ld; entry && entry->d_tag != DT_NULL; ++entry) {
    const void* pointer = absolute(object, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) table->symbols = pointer;
    if (entry->d_tag == DT_STRTAB) table->strings = pointer;
    if (entry->d_tag == DT_GNU_HASH) table->gnu_hash = pointer;
    if (entry->d_tag == DT_HASH) table->sysv_hash = pointer;
  }
  return table->symbols && table->strings;
}

static int defines(const struct symbol_table* table, uint32_t index, const char* name) {
  const ElfW(Sym)* symbol = &table->symbols[index];
  return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && vg_same(table->strings + symbol->st_name, name);
}

static uint32_t find_by_gnu_hash(const struct symbol_table* table, const char* name) {
  const uint32_t bucket_count = table->gnu_hash[0], first = table->gnu_hash[1], bloom_words = table->gnu_hash[2];
  const uint32_t* buckets = table->gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = buckets + bucket_count;
  uint32_t hash = 5381;
  for (const char* c = name; *c; ++c) hash = hash * 33 + (unsigned char)*c;
  if (bucket_count == 0) return 0;
  uint32_t index = buckets[hash % bucket_count];
  if (index < first) return 0;
  for (;; ++index) {
    const uint32_t link = chain[index - first];
    if ((link | 1) == (hash | 1) && defines(table, index, name)) return index;
    if (link & 1) return 0;
  }
}

static uint32_t find_by_sysv_hash(const struct symbol_table* table, const char* name) {
  const uint32_t symbol_count = table->sysv_hash[1];
  for (uint32_t index = 1; index < symbol_count; ++index)
    if (defines(table, index, name)) return index;
  return 0;
}

static void* find_in(const struct link_map* object, const char* name) {
  struct symbol_table table;
  if (!read_symbol_table(object, &table)) return NULL;
  uint32_t index = 0;
  if (table.gnu_hash)
    index = find_by_gnu_hash(&table, name);
  else if (table.sysv_hash)
    index = find_by_sysv_hash(&table, name);
  return index ? (void*)(object->l_addr + table.symbols[index].st_value) : NULL;
}

static int is_libc(const struct link_map* object) {
  const char* base = object->l_name;
  if (!base) return 0;
  for (const char* c = object->l_name; *c; ++c)
    if (*c == '/') base = c + 1;
  return vg_starts_with(base, "libc.so.") || vg_starts_with(base, "libdl.so.") || vg_starts_with(base, "libc-2.") ||
         vg_starts_with(base, "libdl-2.");
}

enum { kAnyObject = 0, kLibcOnly = 1 };

static const struct link_map* ourselves(void) {
  const struct link_map* object = _r_debug.r_map;
  while (object && object->l_ld != _DYNAMIC) object = object->l_next;
  return object;
}

static void* find_from(const struct link_map* object, const char* name, int which) {
  for (; object; object = object->l_next) {
    if (object->l_ld == _DYNAMIC || (which == kLibcOnly && !is_libc(object))) continue;
    void* found = find_in(object, name);
    if (found) return found;
  }
  return NULL;
}

/* The first definition of `name` in the objects that the loader listed after us. Libc comes before us where a running
 * program has loaded us. */
static void* find_behind_us(const char* name, int which) {
  const struct link_map* us = ourselves();
  void* found = us ? find_from(us->l_next, name, which) : NULL;
  return found ? found : find_from(_r_debug.r_map, name, kLibcOnly);
}

int vg_next_is_ours(const struct link_map* object, const char* name) {
  const struct link_map* us = ourselves();
  for (object = object->l_next; object && object != us; object = object->l_next)
    if (find_in(object, name)) return 0;
  return object != NULL;
}

static void* cached(void** slot, const char* name, int which) {
  void* found = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (!found) {
    found = find_behind_us(name, which);
    __atomic_store_n(slot, found, __ATOMIC_RELAXED);
  }
  return found;
}

vg_dlsym_function vg_next_dlsym(void) {
  static void* slot;
  return (vg_dlsym_function)cached(&slot, "dlsym", kAnyObject);
}

vg_dlvsym_function vg_next_dlvsym(void) {
  static void* slot;
  return (vg_dlvsym_function)cached(&slot, "dlvsym", kAnyObject);
}

vg_dlsym_function vg_libc_dlsym(void) {
  static void* slot;
  return (vg_dlsym_function)cached(&slot, "dlsym", kLibcOnly);
}
