/* Shared by the assembly and entries.c: how far apart the entries stand. */
#if defined(__x86_64__)
#define VG_ENTRY_BYTES 64
#elif defined(__aarch64__)
#define VG_ENTRY_BYTES 32
#else
#error "vramguard has no entries for this processor: add shim/preload/entries_<machine>.S"
#endif
