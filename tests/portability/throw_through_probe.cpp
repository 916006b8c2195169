// A host with its own libstdc++ whose callback throws: the exception must pass the probe's frames and be caught here.
#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const auto run =
      reinterpret_cast<int (*)(void (*)(const char*, const char*, int), int*)>(dlsym(library, "floor_probe_run"));
  const auto call = reinterpret_cast<void (*)(void (*)(void*), void*)>(dlsym(library, "floor_probe_call"));
  const auto destroyed = reinterpret_cast<int (*)()>(dlsym(library, "floor_probe_destroyed"));
  if (run == nullptr || call == nullptr || destroyed == nullptr) return 2;

  int checks = 0;
  int failed = run([](const char* what, const char* file,
                      int line) { std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, what); },
                   &checks);
  for (int round = 1; round <= 100; ++round) {
    std::string caught;
    try {
      call([](void* number) { throw std::runtime_error(std::to_string(*static_cast<int*>(number))); }, &round);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    checks += 2;
    failed += caught != std::to_string(round);
    failed += destroyed() != round;
  }
  std::printf("%d checks, %d failed\n", checks, failed);
  return failed != 0;
}
