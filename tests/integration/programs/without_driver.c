/* Runs without a driver, with a library that would use one. */
void call_all(void);

int main(void) {
  call_all();
  return 0;
}
