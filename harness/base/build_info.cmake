# Writes OUT, a header that names this build; run as a script at every build.
#   -DOUT= -DSOURCE= -DVERSION= -DTYPE= -DFLAGS= -DCOMPILER=

set(commit "")
set(dirty 0)
find_program(GIT git)
set(top "")
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(REAL_PATH ${SOURCE} source)
# The repository of an archive's surroundings says nothing of it.
if(top STREQUAL source)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT changes STREQUAL "")
    set(dirty 1)
  endif()
endif()

# As text of a C string.
foreach(value FLAGS COMPILER)
  string(REPLACE "\\" "\\\\" ${value} "${${value}}")
  string(REPLACE "\"" "\\\"" ${value} "${${value}}")
endforeach()

set(text "#define BUILD_VERSION \"${VERSION}\"
#define BUILD_COMMIT \"${commit}\"
#define BUILD_DIRTY ${dirty}
#define BUILD_COMPILER \"${COMPILER}\"
#define BUILD_TYPE \"${TYPE}\"
#define BUILD_FLAGS \"${FLAGS}\"
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUT} "${text}")
endif()
