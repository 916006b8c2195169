// glibc 2.32. Only a hint that atomics may be left out; a library in a stranger's process never gives it.
char __libc_single_threaded = 0;
