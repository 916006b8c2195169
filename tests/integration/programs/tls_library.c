/* Takes static thread-local storage, as libraries do that were meant to be linked to the program. */
static __thread char block[512] __attribute__((tls_model("initial-exec"))) = {1};

char* tls_block(void) { return block; }
