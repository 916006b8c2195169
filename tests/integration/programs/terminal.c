/* Runs a command on a terminal of its own and prints what appears there. Usage: terminal COMMAND... */
#include <pty.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int master = -1;
  const pid_t child = argc > 1 ? forkpty(&master, NULL, NULL, NULL) : -1;
  if (child < 0) return 125;
  if (child == 0) {
    execv(argv[1], argv + 1);
    _exit(126);
  }
  char chunk[4096];
  for (ssize_t got; (got = read(master, chunk, sizeof chunk)) > 0;) fwrite(chunk, 1, (size_t)got, stdout);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 124;
}
