# Writes the version script of the preloaded part from the table: cmake -DTABLE=... -DOUT=... -DOLDEST=... -P version_script.cmake
file(STRINGS ${TABLE} rows REGEX "^VG_(DRIVER|NVML)_FUNCTION\\([a-zA-Z0-9_]+, ")
set(names "")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^VG_(DRIVER|NVML)_FUNCTION\\(([A-Za-z0-9_]+),.*" "\\2" name "${row}")
  string(APPEND names "    ${name};\n")
endforeach()
file(WRITE ${OUT}
"VRAMGUARD_1 {
  global:
${names}    vramguard_*;
  local: *;
};
${OLDEST} { global: dlsym; dlvsym; };
GLIBC_2.34 { global: dlsym; dlvsym; } ${OLDEST};
")
