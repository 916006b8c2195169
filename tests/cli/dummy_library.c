/* Stands in for libvramguard.so: the tests of the command need something that can be preloaded and does nothing. */
int vramguard_dummy(void);
int vramguard_dummy(void) { return 0; }
