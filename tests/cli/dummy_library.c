/* Stands in for libvramguard.so: the tests of the command need something that can be preloaded and does nothing. It
 * needs the C library, so that a test can make it ask for a newer one. */
#include <unistd.h>

int vramguard_dummy(void);
int vramguard_dummy(void) { return getpid() > 0; }
